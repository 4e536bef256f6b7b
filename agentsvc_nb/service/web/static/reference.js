// Shows the OpenAPI document with Swagger UI, in the colours that the system prefers.
"use strict";

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const applyColours = () => document.documentElement.classList.toggle("dark-mode", prefersDark.matches);
prefersDark.addEventListener("change", applyColours);
applyColours();

const reference = document.querySelector("#reference");
SwaggerUIBundle({
  domNode: reference,
  url: reference.dataset.document,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,  // its default sends the document's address to validator.swagger.io
});

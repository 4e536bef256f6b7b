/**
 * A federated module of JupyterLab and Notebook, written by hand: what webpack would build has the same two functions.
 *
 * `init` is given the modules that the application shares; `get` answers with a factory of the plugin. The other files
 * are modules beside this one, and are asked for with the same `?v=`, so that none is of another version.
 */
var _JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB = _JUPYTERLAB;
_JUPYTERLAB["agentsvc-nb"] = (() => {
  const here = new URL(document.currentScript.src);
  let scope = {};

  /** A module of the application; it has one version of each. */
  async function shared(name) {
    const [entry] = Object.values(scope[name]);
    return (await entry.get())();
  }

  return {
    init: (given) => {
      scope = given;
    },
    get: async () => {
      const address = (name) => new URL(name + here.search, here);
      const { plugin } = await import(address("extension.js"));
      const made = await plugin(shared, (name) => import(address(name)), address);
      return () => ({ __esModule: true, default: made });
    },
  };
})();

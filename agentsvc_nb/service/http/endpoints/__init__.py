"""The handlers of the endpoints, a module a resource; `wire.routes` names them."""

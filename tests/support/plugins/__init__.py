"""Java connectors whose behaviour is unusual on purpose, and the code that compiles them when tests need them."""

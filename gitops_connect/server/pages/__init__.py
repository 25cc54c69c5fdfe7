"""The pages of the server as HTML. Every value from outside is escaped by `report.page.shown`."""

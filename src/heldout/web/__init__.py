"""The same documents in a browser: a local page where files are dropped, columns chosen and reports read."""

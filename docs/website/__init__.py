"""The generator of the site: pages from the declarations, examples executed while a page is written."""

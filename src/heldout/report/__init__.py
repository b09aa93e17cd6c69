"""Reports: how answers read, as blocks that any form of output can show."""

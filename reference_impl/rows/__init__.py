"""The database rows of the system; each public function is one step inside a transaction of its caller, or one transaction."""

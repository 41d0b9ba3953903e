-- Models say what these did.
DROP FUNCTION claim_due_memories;
DROP FUNCTION store_vectors;
DROP FUNCTION forget_vectors;

"""What work produces, as plain data: studies, claims, reports, maps. Pages draw it; nothing here computes or draws."""

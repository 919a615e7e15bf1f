"""A server for runs that speaks the OpenAI API: requests share batches, with the results of being alone."""

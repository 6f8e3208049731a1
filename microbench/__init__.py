"""The instruments: loops of explicit machine instructions, the memory they run on and the threads that time them."""

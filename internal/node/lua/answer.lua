return failure or answer

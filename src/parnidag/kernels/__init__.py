"""The machine room: what compiled code works on. Touch it with the tests of transitions open."""

"""The nouns that the stages exchange: frozen values, standard library only, no clock, file, socket or setting."""

"""The forms that providers of models speak, from their side: servers on loopback that stand in for them in tests."""

module example.org/allowed

go 1.26.0

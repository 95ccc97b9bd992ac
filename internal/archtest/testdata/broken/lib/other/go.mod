module example.org/other

go 1.26.0

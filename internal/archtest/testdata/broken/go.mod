module broken

go 1.26.0

require (
	example.org/allowed v0.0.0
	example.org/other v0.0.0
)

replace (
	example.org/allowed => ./lib/allowed
	example.org/other => ./lib/other
)

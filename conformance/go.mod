module kafsck/conformance

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/twmb/franz-go/pkg/kmsg v1.15.1
	kafsck v0.0.0
)

require (
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace kafsck => ../

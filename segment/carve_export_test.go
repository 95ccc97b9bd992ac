package segment

// SmallCarve has a search work in chunks of n bytes, so that small files have all that large ones do.
func SmallCarve(opt CarveOptions, n int) CarveOptions {
	opt.reach = n
	return opt
}

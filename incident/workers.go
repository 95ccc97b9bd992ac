package incident

import "runtime"

// cores are those that this process may use, whatever GOMAXPROCS becomes later.
var cores = max(runtime.GOMAXPROCS(0), 1)

// workers is how many logs are read at once.
func (o *Options) workers() int {
	if o.Background {
		return max(cores-1, 1)
	}
	return cores
}

// noReadAhead: reading ahead keeps a second core busy for each log.
func (o *Options) noReadAhead() bool { return o.Background && !CoresToSpare() }

// CoresToSpare reports whether work in the background may read ahead: whether that still leaves a
// core free.
func CoresToSpare() bool { return cores > 2 }

// readSlots bounds how many logs are read at once, whatever the partitions; backgroundSlots
// those of Options.Background.
var (
	readSlots       = make(chan struct{}, cores)
	backgroundSlots = make(chan struct{}, max(cores-1, 1))
)

func (inc *Incident) readSlots() chan struct{} {
	switch {
	case inc.slots != nil:
		return inc.slots
	case inc.opt.Background:
		return backgroundSlots
	}
	return readSlots
}

func newReadSlots(o *Options) chan struct{} { return make(chan struct{}, o.workers()) }

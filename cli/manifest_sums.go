package cli

import (
	"context"
	"runtime"
	"sync"

	"kafsck/manifest"
)

// total is how much was summed.
type total struct{ files, bytes int64 }

// sums reads all files, several at a time, and calls each in their order for every one that
// could be read. Others are complained about.
func (a *app) sums(ctx context.Context, files []listed, each func(l *listed, sum string) error) (total, error) {
	var all total
	var bytes int64
	for _, l := range files {
		bytes += l.file.Size
	}
	bar := a.newProgress(bytes)
	defer bar.finish()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type result struct {
		sum string
		err error
	}
	results := make([]chan result, len(files))
	for i := range results {
		results[i] = make(chan result, 1)
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		workers.Go(func() {
			for i := range next {
				sum, err := manifest.Sum(ctx, files[i].tree.fsys, files[i].file, bar.add)
				results[i] <- result{sum, err}
			}
		})
	}
	workers.Go(func() {
		defer close(next)
		for i := range files {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	})
	defer workers.Wait()
	defer stop()
	for i := range files {
		select {
		case r := <-results[i]:
			if r.err != nil && ctx.Err() == nil {
				a.cannotRead(files[i].name, r.err)
				continue
			}
			if r.err == nil {
				all.files++
				all.bytes += files[i].file.Size
				if err := each(&files[i], r.sum); err != nil {
					return all, err
				}
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return all, errInterrupted
		}
	}
	return all, nil
}

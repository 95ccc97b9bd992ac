package tui

import "kafsck/broker"

// release is the release of Kafka that predictions are for. given: somebody named it; else
// it is an assumption, and the files may know better.
func (w *world) release() (v broker.Version, given bool) {
	if w.kafka == (broker.Version{}) {
		return broker.Latest, false
	}
	return w.kafka, true
}

// releaseFlag are the words that give a command the release that was named.
func (w *world) releaseFlag(words ...string) []string {
	if v, given := w.release(); given {
		words = append(words, "--kafka", v.String())
	}
	return words
}

// releaseCrumb is the release for the breadcrumbs, "" where nobody named one.
func (w *world) releaseCrumb() string {
	if v, given := w.release(); given {
		return " (Kafka " + v.String() + ")"
	}
	return ""
}

// releaseCommand is ":kafka 3.9": screens that predict do it again when they are seen next.
func (a *app) releaseCommand() command {
	return command{name: "kafka", args: "RELEASE", help: "predict starts and leaders for this release; none: as at first",
		complete: oneOf("4.3", "4.2", "4.1", "4.0", "3.9", "3.6", "3.3", "3.0", "2.8", "2.4", "2.0", "1.1", "1.0", "0.11", "0.10", "0.9", "0.8"),
		run: func(arg string, _ *control) (work, error) {
			v := a.world.opt.Kafka
			if arg != "" {
				var err error
				if v, err = broker.ParseVersion(arg); err != nil {
					return nil, err
				}
			}
			a.world.kafka = v
			if _, given := a.world.release(); given {
				a.say(levelOK, "starts and leaders are predicted for Kafka "+v.String())
			} else {
				a.say(levelOK, "starts and leaders are predicted as the files tell, else for Kafka "+broker.Latest.String())
			}
			a.refresh(a.top())
			return nil, nil
		}}
}

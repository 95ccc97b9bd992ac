package kraft

import (
	"fmt"

	"kafsck/internal/schema"
)

// broker replays the records about registrations (ClusterDelta.replay).
func (p *replayer) broker(at origin, apiKey uint32, b *schema.Struct) error {
	e := BrokerEvent{}
	var id int32
	if apiKey == keyFenceBroker || apiKey == keyUnfenceBroker {
		id = b.Int32("id")
	} else {
		id = b.Int32("brokerId")
	}
	if apiKey == keyRegisterBroker {
		e.Kind = Registered
		e.BrokerEpoch = b.Int("brokerEpoch")
		e.IncarnationID = b.UUID("incarnationId")
		e.Fenced = b.Bool("fenced")
		e.InControlledShutdown = b.Bool("inControlledShutdown")
		if b.Has("logDirs") {
			e.LogDirs = b.UUIDs("logDirs")
		}
		p.event(at, id, e)
		return nil
	}

	known := p.log.Brokers[id]
	if known == nil || known.Events[len(known.Events)-1].Kind == Unregistered {
		if p.doubt > 0 {
			return nil // its registration lies in a gap
		}
		return fmt.Errorf("record about broker %d, which is not registered", id)
	}
	e = known.Events[len(known.Events)-1]
	before := e
	var epoch int64
	switch apiKey {
	case keyUnregisterBroker:
		epoch, e.Kind = b.Int("brokerEpoch"), Unregistered
	case keyFenceBroker:
		epoch, e.Kind, e.Fenced = b.Int("epoch"), Fenced, true
	case keyUnfenceBroker:
		epoch, e.Kind, e.Fenced = b.Int("epoch"), Unfenced, false
	case keyBrokerRegistrationChange:
		epoch = b.Int("brokerEpoch")
		if fenced := b.Int("fenced"); fenced != 0 {
			e.Fenced = fenced > 0
		}
		if b.Int("inControlledShutdown") == 1 {
			e.InControlledShutdown = true
		}
		// An empty list is the default: no change.
		if dirs := b.UUIDs("logDirs"); len(dirs) > 0 {
			e.LogDirs = dirs
		}
		switch {
		case e.Fenced && !before.Fenced:
			e.Kind = Fenced
		case !e.Fenced && before.Fenced:
			e.Kind = Unfenced
		case e.InControlledShutdown && !before.InControlledShutdown:
			e.Kind = ControlledShutdown
		default:
			e.Kind = Changed
		}
	}
	if epoch != before.BrokerEpoch && p.doubt == 0 {
		// Kafka refuses to load such a log.
		return fmt.Errorf("record about broker %d of epoch %d, which is registered with epoch %d", id, epoch, before.BrokerEpoch)
	}
	p.event(at, id, e)
	return nil
}

func (p *replayer) event(at origin, id int32, e BrokerEvent) {
	e.Offset, e.TimeMs, e.FromSnapshot = at.offset, at.timeMs, at.fromSnapshot
	b := p.log.Brokers[id]
	if b == nil {
		b = &Broker{ID: id}
		p.log.Brokers[id] = b
	}
	b.Events = append(b.Events, e)
}

package kraft

import (
	"errors"
	"fmt"
	"slices"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

const (
	maxOthers     = 1000
	maxOtherValue = 256
)

// origin is where a record stands.
type origin struct {
	offset, timeMs int64
	raftEpoch      int32
	fromSnapshot   bool
}

// replayer applies records to a Log, one after the other.
type replayer struct {
	log    *Log
	byName map[string]wire.UUID // topics that exist
	states map[PartitionID]*partitionState
	// Each list and each set of lists once: most changes repeat an earlier one.
	lists   map[string][]int32
	members map[string]*Members
	key     []byte // scratch for the keys of members

	// doubt counts the gaps passed so far. A partition whose state was last settled
	// under an earlier count is uncertain.
	doubt int

	tx *transaction
}

type partitionState struct {
	partition  *Partition
	doubt      int   // replayer.doubt when the whole state was last known
	lastLeader int32 // last leader that was not -1; noLeader if none is known
}

const noLeader = -2

// transaction is a metadata transaction in progress (MetadataBatchLoader).
type transaction struct {
	began   int64
	pending []pendingRecord
}

type pendingRecord struct {
	at    origin
	value []byte
}

func newReplayer(log *Log) *replayer {
	log.Topics = map[wire.UUID]*Topic{}
	log.Partitions = map[PartitionID]*Partition{}
	log.Brokers = map[int32]*Broker{}
	log.Features = map[string][]FeatureChange{}
	log.Counts = map[uint32]int{}
	log.Newer = map[uint32]int{}
	log.configs = map[configKey][]int{}
	return &replayer{
		log:    log,
		byName: map[string]wire.UUID{},
		states: map[PartitionID]*partitionState{},
		lists:  map[string][]int32{},

		members: map[string]*Members{},
	}
}

// record takes the value of one record in metadata order. The error says why the
// record could not be used.
func (p *replayer) record(at origin, value []byte) error {
	rec, err := DecodeRecord(value)
	if !at.fromSnapshot {
		p.count(rec, err)
	}
	if errors.Is(err, ErrUnknownType) {
		p.other(at, rec, value)
		return nil
	}
	if err != nil {
		if rec.kind != nil {
			err = fmt.Errorf("%s: %w", rec.Type(), err)
		}
		return err
	}
	switch rec.APIKey {
	case keyBeginTransaction:
		if p.tx != nil {
			err = fmt.Errorf("transaction begins within the one from offset %d", p.tx.began)
		}
		p.tx = &transaction{began: at.offset}
		return err
	case keyEndTransaction, keyAbortTransaction:
		tx := p.tx
		if p.tx = nil; tx == nil {
			if p.doubt > 0 {
				return nil // it begins in a gap
			}
			return fmt.Errorf("%s without a transaction", rec.Type())
		}
		if rec.APIKey == keyAbortTransaction {
			return nil
		}
		var errs []error
		for _, r := range tx.pending {
			rec, err := DecodeRecord(r.value)
			if err == nil {
				err = p.apply(r.at, rec, r.value)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("offset %d: %w", r.at.offset, err))
			}
		}
		return errors.Join(errs...)
	}
	if p.tx != nil {
		p.tx.pending = append(p.tx.pending, pendingRecord{at, slices.Clone(value)})
		return nil
	}
	return p.apply(at, rec, value)
}

func (p *replayer) count(rec Record, err error) {
	if err != nil && rec.kind == nil && !errors.Is(err, ErrUnknownType) {
		return // not even the apiKey could be read
	}
	p.log.Counts[rec.APIKey]++
	if rec.kind != nil && int64(rec.Version) > int64(rec.kind.message.Max) {
		p.log.Newer[rec.APIKey]++
	}
}

func (p *replayer) apply(at origin, rec Record, value []byte) error {
	b := &rec.body
	switch rec.APIKey {
	case keyTopic:
		p.topic(at, b.UUID("topicId"), b.Text("name"))
	case keyRemoveTopic:
		return p.removeTopic(at, b.UUID("topicId"))
	case keyPartition:
		p.partition(at, b)
	case keyPartitionChange:
		return p.partitionChange(at, b)
	case keyClearElr:
		return p.clearELR(at, b.Text("topicName"))
	case keyConfig:
		var v *string
		if !b.IsNull("value") {
			s := b.Text("value")
			v = &s
		}
		p.config(at, configKey{int8(b.Int("resourceType")), b.Text("resourceName"), b.Text("name")}, v)
	case keyFeatureLevel:
		p.feature(at, b)
	case keyRegisterBroker, keyUnregisterBroker, keyBrokerRegistrationChange, keyFenceBroker, keyUnfenceBroker:
		return p.broker(at, rec.APIKey, b)
	case keyNoOp:
	default:
		p.other(at, rec, value)
	}
	return nil
}

// other keeps a record that the history has no place for, within bounds.
func (p *replayer) other(at origin, rec Record, value []byte) {
	l := p.log
	if len(l.Others) >= maxOthers {
		l.OthersDropped++
		return
	}
	o := OtherRecord{
		Offset: at.offset, TimeMs: at.timeMs, FromSnapshot: at.fromSnapshot,
		APIKey: rec.APIKey, Version: rec.Version, Size: int64(len(value)),
	}
	switch rec.APIKey {
	case keyUserScramCredential, keyDelegationToken, keyRemoveDelegationToken:
	default:
		o.Value = slices.Clone(value[:min(len(value), maxOtherValue)])
	}
	l.Others = append(l.Others, o)
}

// topic replays a TopicRecord (TopicsDelta.replay).
func (p *replayer) topic(at origin, id wire.UUID, name string) {
	if t, known := p.log.Topics[id]; known && t.RemovedAt < 0 {
		return // said before, by an earlier snapshot or in front of one
	}
	p.byName[name] = id
	p.log.Topics[id] = &Topic{
		ID: id, Name: name,
		CreatedAt: at.offset, CreatedMs: at.timeMs, FromSnapshot: at.fromSnapshot,
		RemovedAt: -1, RemovedMs: -1,
	}
}

// removeTopic replays a RemoveTopicRecord (TopicsDelta.replay). The topic's
// configurations go with it, without records of their own
// (ConfigurationsDelta.replay).
func (p *replayer) removeTopic(at origin, id wire.UUID) error {
	t := p.log.Topics[id]
	if t == nil || t.RemovedAt >= 0 {
		if p.doubt > 0 {
			return nil // its creation lies in a gap
		}
		return fmt.Errorf("removal of a topic that does not exist: %s", id)
	}
	t.RemovedAt, t.RemovedMs = at.offset, at.timeMs
	if p.byName[t.Name] == id {
		delete(p.byName, t.Name)
		p.dropConfigs(at, ResourceTopic, t.Name)
	}
	return nil
}

func (p *replayer) dropConfigs(at origin, resourceType int8, resourceName string) {
	var set []configKey
	for k, changes := range p.log.configs {
		if k.resourceType == resourceType && k.resourceName == resourceName && p.log.Configs[changes[len(changes)-1]].Value != nil {
			set = append(set, k)
		}
	}
	slices.SortFunc(set, configKey.compare)
	for _, k := range set {
		p.config(at, k, nil)
	}
}

func (p *replayer) config(at origin, k configKey, value *string) {
	l := p.log
	l.configs[k] = append(l.configs[k], len(l.Configs))
	l.Configs = append(l.Configs, ConfigChange{
		Offset: at.offset, TimeMs: at.timeMs, FromSnapshot: at.fromSnapshot,
		ResourceType: k.resourceType, ResourceName: k.resourceName, Name: k.name, Value: value,
	})
}

// feature replays a FeatureLevelRecord in either of its two forms.
func (p *replayer) feature(at origin, b *schema.Struct) {
	c := FeatureChange{Offset: at.offset, TimeMs: at.timeMs, FromSnapshot: at.fromSnapshot}
	if b.Names("maxFeatureLevel") {
		c.Level, c.MinLevel = int16(b.Int("maxFeatureLevel")), int16(b.Int("minFeatureLevel"))
	} else {
		c.Level = int16(b.Int("featureLevel"))
	}
	name := b.Text("name")
	p.log.Features[name] = append(p.log.Features[name], c)
}

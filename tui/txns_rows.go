package tui

import (
	"kafsck/incident"
	"kafsck/replica"
)

// txnRows are the transactions of one copy.
type txnRows struct {
	p    *incident.Partition
	c    *incident.CopyTransactions
	list []txn
}

func (r txnRows) Len() int { return len(r.list) }

func (r txnRows) opened(row int) *incident.OpenTransaction {
	if i := r.list[row].open; i >= 0 {
		return &r.c.Open[i]
	}
	return nil
}

func (r txnRows) state(row int) string {
	if x := r.opened(row); x != nil {
		return x.StateText()
	}
	return string(r.list[row].state)
}

func (r txnRows) Severity(row int) level {
	switch x := r.opened(row); {
	case x != nil && x.Hanging:
		return levelWarning
	case x != nil, r.list[row].state == replica.TransactionAborted:
		return levelNote
	}
	return levelOK
}

func (r txnRows) Cell(row, col int) string {
	t := &r.list[row]
	switch col {
	case 0:
		return r.state(row)
	case 1:
		return itoa(t.producer)
	case 2:
		return itoa(int64(t.epoch))
	case 3:
		return known(t.first)
	case 4:
		return known(t.last)
	case 5:
		return known(t.marker)
	case 6:
		return comma(t.records)
	case 7:
		return clock(t.firstMs)
	}
	if x := r.opened(row); x != nil {
		return x.TransactionalID
	}
	return ""
}

func (r txnRows) Value(row, col int) any {
	t := &r.list[row]
	switch col {
	case 1:
		return t.producer
	case 2:
		return int64(t.epoch)
	case 3:
		return orNil(t.first)
	case 4:
		return orNil(t.last)
	case 5:
		return orNil(t.marker)
	case 6:
		return t.records
	case 7:
		return orNil(t.firstMs)
	}
	return r.Cell(row, col)
}

// JSON is the row as the transaction line of --json.
func (r txnRows) JSON(row int) any {
	t := &r.list[row]
	out := map[string]any{"type": "transaction", "partition": r.p.Name, "broker": brokerJSON(r.c.Copy.Broker), "producerId": t.producer, "producerEpoch": t.epoch,
		"state": r.state(row), "from": orNil(t.first), "to": orNil(t.marker), "transactionalId": nil}
	if x := r.opened(row); x != nil && x.TransactionalID != "" {
		out["transactionalId"] = x.TransactionalID
	}
	return out
}

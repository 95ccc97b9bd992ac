package report

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/incident"
	"kafsck/internaltopic"
)

// head names a group: kind, state, generation or epoch.
func (t *Groups) head(v *incident.GroupView) string {
	s := clipped(Escape(v.Group), 2*maxCell)
	if v.Group == "" {
		s = `"" (the empty group id)`
	}
	if t.Clusters > 1 {
		s += " (cluster " + Escape(v.Cluster.ID) + ")"
	}
	st := v.State
	if st == nil {
		return s + ": committed offsets only, no record of members"
	}
	s += ": " + string(st.Kind) + " group"
	if st.State != "" {
		s += ", " + st.State
	}
	if st.State == "Dead" && v.Live() > 0 {
		s += " (the group's record is deleted, its positions are not)"
	}
	if st.Kind == internaltopic.ClassicGroup {
		if st.Epoch >= 0 {
			s += fmt.Sprintf(", generation %d", st.Epoch)
		}
		if st.ProtocolType != "" {
			s += ", protocol " + Escape(st.ProtocolType)
			if st.Protocol != "" {
				s += "/" + Escape(st.Protocol)
			}
		}
	} else if st.Epoch >= 0 {
		s += fmt.Sprintf(", group epoch %d", st.Epoch)
		if st.TargetEpoch >= 0 && st.TargetEpoch != st.Epoch {
			s += fmt.Sprintf(" (target assignment of epoch %d)", st.TargetEpoch)
		}
	}
	if n := len(st.Members); n > 0 {
		s += ", " + count(n, "member", "members")
	}
	return s
}

// shownMembers is how many members are named without --members.
const shownMembers = 4

func (t *Groups) members(v *incident.GroupView) []string {
	if v.State == nil || len(v.State.Members) == 0 {
		return nil
	}
	if !t.Members {
		var names []string
		for i := range v.State.Members {
			if m := &v.State.Members[i]; i < shownMembers {
				names = append(names, Escape(m.ClientID)+" ("+Escape(strings.TrimPrefix(m.ClientHost, "/"))+")")
			}
		}
		if n := len(v.State.Members) - len(names); n > 0 {
			names = append(names, fmt.Sprintf("%s more", comma(n)))
		}
		return indented("  members: ", strings.Join(names, ", "))
	}
	tab := table{header: []string{"MEMBER", "CLIENT", "HOST", ">MEMBER EPOCH", "ASSIGNED"}, wrap: true}
	for i := range v.State.Members {
		m := &v.State.Members[i]
		epoch := "-"
		if m.Epoch >= 0 {
			epoch = fmt.Sprint(m.Epoch)
		}
		name := Escape(m.ID)
		if m.InstanceID != "" {
			name += " (instance " + Escape(m.InstanceID) + ")"
		}
		if m.Leader {
			name += " (leader)"
		}
		tab.add(name, Escape(m.ClientID), Escape(strings.TrimPrefix(m.ClientHost, "/")), epoch, assignment(m))
		if m.Regex != "" {
			tab.note("subscribed to the pattern " + Escape(m.Regex))
		}
	}
	return tab.lines("  ")
}

func assignment(m *incident.GroupMember) string {
	var parts []string
	for _, a := range m.Assigned {
		name := Escape(a.Topic)
		if a.Topic == "" {
			name = "topic id " + a.TopicID.String()
		}
		parts = append(parts, name+" "+partitionNumbers(a.Partitions))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// partitionNumbers prints partition numbers, runs of them shortened: 0–3, 7.
func partitionNumbers(list []int32) string {
	sorted := slices.Sorted(slices.Values(list))
	var parts []string
	for i := 0; i < len(sorted); {
		k := i
		for k+1 < len(sorted) && sorted[k+1] == sorted[k]+1 {
			k++
		}
		switch {
		case k == i:
			parts = append(parts, fmt.Sprint(sorted[i]))
		case k == i+1:
			parts = append(parts, fmt.Sprint(sorted[i]), fmt.Sprint(sorted[k]))
		default:
			parts = append(parts, fmt.Sprintf("%d–%d", sorted[i], sorted[k]))
		}
		i = k + 1
	}
	return strings.Join(parts, ", ")
}

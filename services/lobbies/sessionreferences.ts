import type { Subscriber } from '../../engine/fanout/body.ts';
import type { Person } from '../../engine/lobby/members.ts';

type Make = (session: Subscriber) => Subscriber;

interface SessionHolder {
  readonly sessions?: readonly Subscriber[];
  readonly person?: Person;
  readonly to?: Person;
  readonly members?: readonly { readonly person: Person }[] | null;
  readonly entries?: readonly { readonly person: Person }[];
}

const inPerson = (person: Person, make: Make): Person => ({ ...person, sessions: person.sessions.map(make) });

const inEach = <Entry extends { readonly person: Person }>(entries: readonly Entry[], make: Make): Entry[] =>
  entries.map((entry) => ({ ...entry, person: inPerson(entry.person, make) }));

/**
 * The same input of a lobby's command, with other objects for its sessions: commands go from shard to shard, and
 * sessions do not. They are where `Person` and `attachSessions` have them.
 */
export function withSessions<Input extends object>(input: Input, make: Make): Input {
  const { sessions, person, to, members, entries } = input as SessionHolder;
  return {
    ...input,
    ...(sessions && { sessions: sessions.map(make) }),
    ...(person && { person: inPerson(person, make) }),
    ...(to && { to: inPerson(to, make) }),
    ...(members && { members: inEach(members, make) }),
    ...(entries && { entries: inEach(entries, make) }),
  };
}

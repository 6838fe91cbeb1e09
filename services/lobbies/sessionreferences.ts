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
 * Replaces the sessions in the input of a lobby's command, because commands cross shards and sessions do not. Sessions
 * occur in `Person` and in `attachSessions`.
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

import { Face } from '../member.tsx';
import type { GuildView, Member } from './world.ts';

const STATUS: Readonly<Record<string, string>> = {
  online: 'online',
  idle: 'idle',
  dnd: 'do not disturb',
  offline: 'offline',
};

const isThere = ({ status }: Member): boolean => status !== 'offline' && status !== 'invisible';

/** The members of a guild: who is here, applications, and who is not here. */
export function MemberList({ guild }: { readonly guild: GuildView }) {
  const members = [...guild.members.values()].sort((a, b) => a.name.localeCompare(b.name));
  const bots = members.filter(({ isBot }) => isBot);
  const people = members.filter(({ isBot }) => !isBot);
  return (
    <section class="memberlist" aria-label="Members">
      <Group title="Here" members={people.filter(isThere)} />
      <Group title="Applications" members={bots} />
      <Group title="Away" members={people.filter((one) => !isThere(one))} />
      {guild.memberCount > members.length && (
        <p class="dim small">and {guild.memberCount - members.length} more</p>
      )}
    </section>
  );
}

function Group({ title, members }: { readonly title: string; readonly members: readonly Member[] }) {
  if (members.length === 0) return null;
  return (
    <>
      <h2>
        {title} <span class="dim">{members.length}</span>
      </h2>
      <ul>
        {members.map(({ id, name, avatar, isBot, status, activity }) => (
          <li key={id} class={status === 'offline' ? 'person away' : 'person'}>
            <Face userId={id} name={name} avatar={avatar} ringPx={0} />
            <span class="dot" data-status={status} />
            <span>
              {name} {isBot && <span class="tag">app</span>}
              <span class="sr">, {STATUS[status] ?? status}</span>
              {activity !== '' && <span class="dim small activity">{activity}</span>}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

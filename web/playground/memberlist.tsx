import type { GuildView, MemberView } from '../../sdk/index.ts';
import { Face } from '../member.tsx';

const STATUS: Readonly<Record<string, string>> = {
  online: 'online',
  idle: 'idle',
  dnd: 'do not disturb',
  offline: 'offline',
};

const isThere = ({ status }: MemberView): boolean => status !== 'offline' && status !== 'invisible';

interface MemberListProps {
  readonly guild: GuildView;
  readonly selfId: string;
  /** Opens the private channel with a person. */
  readonly write: (userId: string) => void;
}

/** The members of a guild: who is here, applications, and who is not here. */
export function MemberList({ guild, selfId, write }: MemberListProps) {
  const members = [...guild.members.values()].sort((a, b) => a.name.localeCompare(b.name));
  const bots = members.filter(({ isBot }) => isBot);
  const people = members.filter(({ isBot }) => !isBot);
  return (
    <section class="memberlist" aria-label="Members">
      <Group title="Here" members={people.filter(isThere)} {...{ selfId, write }} />
      <Group title="Applications" members={bots} {...{ selfId, write }} />
      <Group title="Away" members={people.filter((one) => !isThere(one))} {...{ selfId, write }} />
      {guild.memberCount > members.length && (
        <p class="dim small">and {guild.memberCount - members.length} more</p>
      )}
    </section>
  );
}

interface GroupProps extends Pick<MemberListProps, 'selfId' | 'write'> {
  readonly title: string;
  readonly members: readonly MemberView[];
}

function Group({ title, members, selfId, write }: GroupProps) {
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
            {id !== selfId && (
              <button
                type="button"
                class="quiet write"
                aria-label={`Write to ${name}`}
                onClick={() => write(id)}
              >
                ✎
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

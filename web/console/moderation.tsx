import { useState } from 'preact/hooks';
import { isJson, type Json } from '../../sdk/voice/wire.ts';
import { text } from './admin.ts';
import { Lobbies } from './live.tsx';
import { type AdminProps, code, count, Paged, word } from './paged.tsx';

interface ChoiceProps {
  readonly label: string;
  readonly action: string;
  readonly choose: (id: string) => void;
}

/** A form that asks for an id. */
function Choice({ label, action, choose }: ChoiceProps) {
  const [id, setId] = useState('');
  return (
    <form
      class="form inline"
      onSubmit={(event) => {
        event.preventDefault();
        choose(id.trim());
      }}
    >
      <label for="choice">{label}</label>
      <input
        id="choice"
        inputMode="numeric"
        pattern="\d{1,20}"
        required
        autocomplete="off"
        value={id}
        onInput={({ currentTarget }) => setId(currentTarget.value)}
      />
      <button type="submit" class="primary">
        {action}
      </button>
    </form>
  );
}

/** Lobbies, by application. */
export function LobbyPage({ admin }: AdminProps) {
  const [application, setApplication] = useState<string | null>(null);
  return (
    <>
      <Choice label="Id of an application" action="Show lobbies" choose={setApplication} />
      {application !== null && <Lobbies key={application} admin={admin} id={application} />}
    </>
  );
}

/** Join requests and audit log, by guild. */
export function Moderation({ admin }: AdminProps) {
  const [guild, setGuild] = useState<string | null>(null);
  return (
    <>
      <Choice label="Id of a guild" action="Show guild" choose={setGuild} />
      {guild !== null && <JoinRequests key={`requests ${guild}`} admin={admin} guild={guild} />}
      {guild !== null && <AuditLog key={`log ${guild}`} admin={admin} guild={guild} />}
    </>
  );
}

type GuildProps = AdminProps & { readonly guild: string };

function JoinRequests({ admin, guild }: GuildProps) {
  const decide = async (row: Json, action: 'APPROVED' | 'REJECTED'): Promise<Json> => {
    const shown = await admin.get(`/guilds/${guild}`);
    const as = isJson(shown.guild) ? text(shown.guild.owner_id) : '';
    const params = { guild_id: guild, request_id: text(row.id) };
    const operation = 'action_guild_join_request';
    return admin.call({ operation, as, params, body: { action } });
  };
  return (
    <Paged
      admin={admin}
      title="Join requests"
      about="Users who ask to become members, newest first. A decision is made as the guild's owner."
      path={`/guilds/${guild}/join-requests`}
      rows="requests"
      cursor={{ by: 'before', key: 'id' }}
      columns={[code('Request', 'id'), code('User', 'user_id'), word('Name', 'username')]}
      changes={(row) => [
        {
          title: 'Approve',
          says: `Makes ${text(row.username)} a full member, as the guild's owner.`,
          run: () => decide(row, 'APPROVED'),
        },
        {
          title: 'Reject',
          says: `Rejects ${text(row.username)}, as the guild's owner.`,
          run: () => decide(row, 'REJECTED'),
        },
      ]}
    />
  );
}

const AuditLog = ({ admin, guild }: GuildProps) => (
  <Paged
    admin={admin}
    title="Audit log"
    about="Changes in the guild, newest first."
    path={`/guilds/${guild}/audit-log`}
    rows="entries"
    cursor={{ by: 'before', key: 'id' }}
    columns={[
      code('Entry', 'id'),
      code('By', 'user_id'),
      count('Action', 'action_type'),
      code('Target', 'target_id'),
      word('Reason', 'reason'),
      { title: 'Changes', cell: (row) => <code class="wrap">{text(row.changes)}</code> },
    ]}
  />
);

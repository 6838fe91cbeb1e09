import { messageOf } from '../protocol/thrown.ts';
import { ACTIVITY_LAYOUT, ActivityHost, type ActivityHostOptions } from '../sdk/activities/index.ts';
import { isJson, type Json } from '../sdk/voice/wire.ts';

interface ActivityPorts {
  readonly token: string;
  listen(listener: (t: string, d: Json) => void): () => void;
  setPresence(activity: object | null): void;
}

interface ActivityChannel {
  readonly guildId: string;
  readonly channelId: string;
}

/** Passed on like a dispatch: a member of the call started or stopped speaking. */
export const SPEAKING = 'SPEAKING';

type ActivityView = Pick<ActivityHostOptions, 'container' | 'ended'>;
type ActivityRequest = Pick<ActivityHostOptions, 'applicationId' | 'customId' | 'referrerId'>;

/** An activity on the page. */
export interface OpenActivity {
  /** Sends its layout to the activity: focused, or small in a corner of the page. */
  layout(isSmall: boolean): void;
  close(): void;
}

/** The activities that the signed-in user opens. */
export class SessionActivities {
  readonly #ports: ActivityPorts;

  constructor(ports: ActivityPorts) {
    this.#ports = ports;
  }

  /** Shows an activity; this user takes part until it is closed. */
  open(
    { guildId, channelId }: ActivityChannel,
    asked: ActivityRequest,
    { container, ended }: ActivityView,
  ): OpenActivity {
    const { token, listen, setPresence } = this.#ports;
    const host = new ActivityHost({
      ...{ api: `${location.origin}/api`, token, ...asked, guildId, channelId, container },
      ...(ended && { ended }),
      page: { setPresence },
    });
    const stop = listen((t, d) => {
      if (t !== SPEAKING) host.dispatch(t, d);
      else if (d.channel_id === channelId) host.speaking(String(d.user_id), d.speaking === true);
    });
    host.start().catch((error: unknown) => host.close(messageOf(error)));
    return {
      layout: (isSmall) => host.layout(isSmall ? ACTIVITY_LAYOUT.PIP : ACTIVITY_LAYOUT.FOCUSED),
      close() {
        stop();
        host.close();
      },
    };
  }

  /** Activities that run in a channel. */
  async of(channelId: string): Promise<readonly Json[]> {
    const headers = { authorization: `Bearer ${this.#ports.token}` };
    const response = await fetch(`/api/v10/channels/${channelId}/activities`, { headers });
    const body: unknown = await response.json();
    return isJson(body) && Array.isArray(body.activities) ? body.activities.filter(isJson) : [];
  }
}

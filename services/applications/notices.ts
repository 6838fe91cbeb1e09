import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Mailer } from '../accounts/ports.ts';
import type { SendSystemMessage } from './systemmessages.ts';

interface NoticePorts {
  readonly mailer: Pick<Mailer, 'send'>;
  readonly contact: (
    userId: UserId,
  ) => Promise<{ readonly email: string; readonly verified: boolean } | null>;
  /** A direct message of the server. */
  readonly message: SendSystemMessage;
  readonly logger: { warn(fields: { readonly applicationId: ApplicationId }, text: string): void };
  readonly onFault: (error: unknown) => void;
}

/** Notifies the owners of applications whose URLs the server no longer uses. */
interface Notices {
  eventsDisabled(application: Application): void;
  /** @param fault Why, as part of a sentence. */
  endpointRemoved(application: Application, fault: string): void;
}

/**
 * The owner gets a direct message, and an e-mail at a confirmed address; the operator gets a line in the log. An application that
 * belongs to its own bot has no owner to notify.
 */
export function createNotices({ mailer, contact, message, logger, onFault }: NoticePorts): Notices {
  async function email(userId: UserId, subject: string, text: string): Promise<void> {
    const to = await contact(userId);
    if (to?.verified) await mailer.send({ to: to.email, subject, text });
  }
  function send({ id, owner_id: ownerId, bot_id: botId }: Application, subject: string, text: string): void {
    logger.warn({ applicationId: id }, subject);
    if (ownerId === botId) return;
    // A failure of one of the two must not prevent the other.
    message(ownerId, text.trim()).catch(onFault);
    email(ownerId, subject, text).catch(onFault);
  }
  return {
    eventsDisabled(application) {
      const subject = `Webhook events of ${application.name} were turned off`;
      const text =
        `The URL for webhook events of your application ${application.name} (${application.id}) has not acknowledged ` +
        'an event for ten minutes. Its events were turned off. Turn them on again in the settings of the application ' +
        '(event_webhooks_status) when the URL works; events of the last 24 hours are then sent.\n';
      send(application, subject, text);
    },
    endpointRemoved(application, fault) {
      const subject = `The interactions endpoint of ${application.name} was removed`;
      const text =
        `The interactions endpoint URL of your application ${application.name} (${application.id}) was removed: ${fault}. ` +
        'Interactions are sent to the gateway again. Set the URL again when it works.\n';
      send(application, subject, text);
    },
  };
}

import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Mailer } from '../accounts/ports.ts';

interface NoticePorts {
  readonly mailer: Pick<Mailer, 'send'>;
  readonly contact: (
    userId: UserId,
  ) => Promise<{ readonly email: string; readonly verified: boolean } | null>;
  readonly logger: { warn(fields: { readonly applicationId: ApplicationId }, text: string): void };
  readonly onFault: (error: unknown) => void;
}

/** E-mails to the owners of applications whose URLs the server no longer uses. */
interface Notices {
  eventsDisabled(application: Application): void;
  /** @param fault Why, as part of a sentence. */
  endpointRemoved(application: Application, fault: string): void;
}

/** An owner without a confirmed address gets no e-mail; the line for the operator is written all the same. */
export function createNotices({ mailer, contact, logger, onFault }: NoticePorts): Notices {
  async function send({ id, owner_id }: Application, subject: string, text: string): Promise<void> {
    logger.warn({ applicationId: id }, subject);
    const to = await contact(owner_id);
    if (to?.verified) await mailer.send({ to: to.email, subject, text });
  }
  return {
    eventsDisabled(application) {
      const subject = `Webhook events of ${application.name} were turned off`;
      const text =
        `The URL for webhook events of your application ${application.name} (${application.id}) has not acknowledged ` +
        'an event for ten minutes. Its events were turned off. Turn them on again in the settings of the application ' +
        '(event_webhooks_status) when the URL works; events of the last 24 hours are then sent.\n';
      send(application, subject, text).catch(onFault);
    },
    endpointRemoved(application, fault) {
      const subject = `The interactions endpoint of ${application.name} was removed`;
      const text =
        `The interactions endpoint URL of your application ${application.name} (${application.id}) was removed: ${fault}. ` +
        'Interactions are sent to the gateway again. Set the URL again when it works.\n';
      send(application, subject, text).catch(onFault);
    },
  };
}

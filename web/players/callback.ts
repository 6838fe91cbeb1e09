/** The page that the browser returns to after the consent page: passes the result to the page that asked. */
import { completeAuthorizePage } from '../../sdk/index.ts';

completeAuthorizePage();

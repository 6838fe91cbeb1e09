/** Where a person comes back to after the consent page: it hands the answer to the page that asked. */
import { completeAuthorizePage } from '../../sdk/index.ts';

completeAuthorizePage();

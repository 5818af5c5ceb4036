"""Every word that a request is refused with, in one catalogue of plain data.

Whoever refuses raises `leaderboard.errors.Refused` with a code and its fields; pages, the API and
the command line show what `word` makes of them. The API's page of problems, the examples in its
schema and the table in docs/api.md are made from here.

Templates are those of `scoring.wording`: fields in braces, what may be missing in brackets.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from scoring.wording import fill


class Refusal(NamedTuple):
    """What a code means, and how it is worded.

    status: the HTTP status.
    about: what the code means in general, where `detail` is about one case.
    field: the form's field that is to blame, unless the raiser names another one.
    variants: details of special cases, by the field `variant`.
    """

    status: int
    title: str
    detail: str
    about: str = ""
    field: str = ""
    variants: Mapping[str, str] = {}

    @property
    def meaning(self) -> str:
        """Return what the code means, in the documentation's words."""
        return self.about or self.detail


_WHEN = "%d %B %Y at %H:%M UTC"

# What the API may answer. Codes are stable: programs match them.
PROBLEMS: Mapping[str, Refusal] = {
    "invalid": Refusal(
        422,
        "Something needs to be fixed",
        "A value is not valid.",
        "A field or parameter is missing, unknown or wrong; `errors` names each one.",
        variants={
            "several": "{count} things are wrong with what was sent.",
            # What teams and participants enter
            "rules_not_accepted": "To join, read the rules and accept them.",
            "name_invisible": "Give the team a name of visible characters.",
            "name_long": "A team's name can have at most {limit} characters.",
            "name_taken": "Another team has this name.",
            "note_long": "A message can have at most {limit} characters.",
            "no_such_member": "{names} is no member of your team.",
            "score_missing": "Enter the score you expect: the board confirms or corrects it.",
            "score_impossible": "Scores are between {low:g} and {high:g}; {claimed:g} is not.",
            "not_a_number": "Submissions are named by their numbers.",
            "alias_fixed": "The organizers gave you this name. Ask them for another one.",
            "wrong_code": "This is not the join code. Check it with whoever gave it to you.",
            # Campaigns and tokens
            "campaign_name": "A campaign's name has 1 to {limit} of a-z, 0-9, - and _, and begins "
            "with a letter or digit.",
            "campaign_taken": "Your team has a campaign called {name}, or had one. Choose another "
            "name.",
            "amount_of_campaign": "A limit is a number from 1 to {limit:,}; none if left out.",
            "too_many_campaigns": "A team can have at most {limit:,} campaigns here.",
            "no_such_campaign": "Your team has no campaign called {name}. Nothing was counted.",
            "no_such_competition": "You can see no competition called {name}.",
            "bound_first": "Choose the competition first: a campaign and a quota are of one.",
            "bound_scopes": "A token for one competition reads and submits, and does nothing else.",
            "amount_of_token": "A quota is a number from 1 to {limit:,}; none if left out.",
            # Bundles and archives
            "wrong_key": "A vault's public key has 64 digits from 0 to f. The other installation "
            "shows its own on the page “From a bundle”.",
            "bundle_gone": "The bundle is not here any more: choose the file again.",
            "own_key": "This is the key of this very installation.",
            "archive_known": "This installation has that competition already, as “{title}”: a "
            "ledger is in one place.",
            "archive_behind": "This installation has seen more of the ledger {ledger} than the "
            "archive holds, or something else. Use a newer archive.",
            # Settings
            "fixed": "It is fixed: participants rely on it.",
            "rules_unchanged": "The rules did not change. Change them, or leave this out.",
            "slug_reserved": "“{slug}” is an address of this site. Choose another short name.",
            "too_many": "Give at most {limit:,}.",
            "too_large_for_site": "This site takes at most {limit:size}.",
            "closes_before_opening": "It must close after it opens.",
            "closes_earlier": "It is open, and participants plan for the announced time: only a "
            "later one can be set. To close it now, use the page “Finals”, which tells everybody.",
            "closes_in_the_past": "It must close in the future.",
            "closes_after_next": "The next round opens before that.",
            "opens_in_the_past": "Choose a moment that is still to come.",
            "opens_too_early": "A round opens after the one before it has closed.",
            "last_is_hidden": "The board of the round before is hidden until the end: reveal its "
            "final scores first.",
            "of_the_ledger": "It is fixed: the ledger of these rows begins with it, for good.",
            "fewer_than_teams": "There are {teams} teams already.",
            "hidden_without_end": "A board that is hidden until the end needs an end: without one "
            "nobody would ever see it.",
            "hidden_without_teams": "A board that is hidden until the end needs a largest number "
            "of teams: each has an equal part in what may be wrong, so its guarantee follows from "
            "how many there can be.",
            "hidden_without_questions": "A board that is hidden until the end needs a limit of "
            "questions: each team may ask an equal part of them, and its guarantee follows.",
            "hidden_with_gates": "A board that is hidden until the end has no gates: these are "
            "counted for all teams together.",
            "role_unknown": "Choose one of {choices}.",
            "removes_oneself": "You would take the competition from yourself. Let another "
            "organizer do that.",
            "not_organizers": "{names}: no organizer's role yet. An operator grants it.",
            "takes_part": "{names} is or was in a team of this competition: who takes part may not "
            "see what is hidden.",
            "last_owner": "A competition needs an owner: name another one first.",
            "no_such_account": "There is no account with this name or confirmed address.",
            "bad_addresses": "{names}: no mail address.",
            "no_such_accounts": "There is no account called {names}.",
            "nobody_named": "Write at least one mail address or user name.",
            "too_many_people": "Invite at most {limit:,} people at once.",
            "bad_domains": "{names}: no domain of mail addresses, such as example.org.",
            "too_many_domains": "Name at most {limit} domains.",
            "reason_public": "Give the reason: the team reads it, and where the team is named, "
            "everybody.",
            "sanction_unknown": "Choose one of {choices}.",
            "extra_out_of_range": "Choose a number from 0 to {limit:,}.",
            "no_total_limit": "There is no limit in all, so there is nothing to add to.",
            # Budgets
            "amount_out_of_range": "Add between 1 and {limit:,}.",
            "no_budget": "This board has no budget: its mechanism needs none, or nobody has begun.",
            "no_share": "This team has not taken a share of the budget yet.",
            # Gates
            "no_such_gate": "There is no gate called “{name}” in this round, or it was retired.",
            "gate_name": "Use at most {limit} letters, digits, “.”, “_” and “-”; begin with a "
            "letter or a digit.",
            "gate_exists": "There is a gate of this name. Retire it first, or use another name.",
            "gate_not_asked": "Leave it out: a gate of this kind has none.",
            "gate_asks_for": "A gate of this kind needs it.",
            "not_in_use": "Choose a submission of this round that was read and answered, and whose "
            "file is there.",
            "not_a_share": "A share of the rows is above 0 and at most 1.",
            "margin_too_small": "Its answers may err by up to {now:.4g} now; announce at least "
            "that much, or leave it out.",
            "not_passed": "Only a file that has passed this gate takes the place of the one in "
            "use.",
            "no_such_board": "The round has no board at this position.",
            "never_compares": "This gate compares with no file.",
            # Files and solutions
            "file_name_long": "The file’s name has more than {limit} characters.",
            "no_file_name": "The file needs a name.",
            "file_exists": "There is a file named {name} already.",
            "sample_exists": "There is a sample submission already.",
            "sample_in_use": "The sealed solution is aligned to this sample submission. Withdraw "
            "the solution first.",
            "no_schema": "The columns of a prediction file are not set yet.",
            "sample_first": "Upload the sample submission first: it fixes the rows.",
            "metric_first": "Choose the metric first: the labels must fit it.",
            "no_private_rows": "No row is Private: there would be nothing to hold out.",
            "rows_answered": "The competition “{other}” answers on these rows. Two ledgers would "
            "count the same rows apart, and neither would be right: wait for its finals, or use "
            "other rows.",
            "rows_answered_before": "An earlier round has answered on these rows, and another "
            "ledger would forget it. Let the round go on with the rows of the one before, or use "
            "other rows.",
            "is_the_sample": "This is the sample submission. Choose the file with the true labels.",
            "public_rows_changed": "Public rows can't be added to a ledger that began without, nor "
            "all be taken away: what it promises rests on them.",
            "groups_dropped": "The solution before says which rows belong together. Keep its "
            "column Group: guarantees count rows by it.",
            "no_reason": "Explain what was wrong: everyone reads it on the board.",
            "reason_long": "Use at most {limit} characters.",
            "rescore_unknown": "Choose what is scored again.",
            # Announcements and webhooks
            "no_title": "Give it a title.",
            "too_long": "Use at most {limit:,} characters.",
            "withdrawn": "It was withdrawn, and can't be changed any more.",
            "no_address": "Give an address like https://example.org/hook: https, the name of a "
            "server, no user name and no fragment.",
            "address_refused": "{reason} Webhooks are sent to https addresses on the internet.",
            "server_unknown": "There is no server called {host}.",
            "event_unknown": "There are no events called {names}.",
            "too_many_webhooks": "A competition can have at most {limit} webhooks.",
            "webhook_off": "The webhook is turned off. Turn it on first.",
            "not_ended_yet": "It is still on its way.",
            "too_few": "Give at least 1.",
            "too_many_trials": "A draft can have at most {limit} trials. Remove some first.",
            "no_files": "Drop the training data, the test data and the solution.",
            "staged_gone": "{count:A file/# files} that you sent earlier {count:is/are} gone. "
            "Choose {count:it/them} again.",
            "role_twice": "There are two files for this; {name} is one of them.",
            # The checklist of the opening
            "page_empty": "The {page} page is empty.",
            "closing_passed": "The closing time has passed.",
            "no_sample": "There is no sample submission.",
            "no_solution": "No solution is sealed.",
            "sample_changed": "The sample submission has changed since: upload the solution again.",
            "none_chosen": "No {kind} is chosen yet.",
            "not_chosen": "Choose a {kind}.",
            "no_such_parameter": "There is no parameter with this name.",
        },
    ),
    "malformed": Refusal(
        400,
        "The request can't be read",
        "The body is not what its type says.",
        variants={"nul": "The address holds a NUL character."},
    ),
    "wrong_credentials": Refusal(
        401,
        "User name and password don't match",
        "The user name and the password do not match.",
        "Check both, or reset the password.",
    ),
    "email_not_verified": Refusal(
        403,
        "The email address is not confirmed",
        "Confirm your email address first: follow the link in the mail you were sent.",
        variants={
            "joining": "Who joins needs a confirmed email address here: follow the link in the "
            "mail you were sent, or ask for another one on your account page.",
        },
    ),
    "second_factor_required": Refusal(
        401,
        "A second factor is needed",
        "The password is right, and this account has a second factor: send `code` as well, from "
        "your authenticator app or your recovery codes.",
        "Send `code`, too: what the authenticator app shows, or a recovery code.",
        "code",
        variants={
            "passkey": "This account is opened by a passkey, which needs a browser. Sign in there, "
            "and make a token on your account page.",
        },
    ),
    "wrong_code": Refusal(
        401,
        "The code is not right",
        "This code is not right, or was used already. An app shows a new one every half minute; a "
        "recovery code works once.",
        "The code is wrong, or was used before. After five wrong ones the account waits.",
        "code",
        variants={"many": "Too many wrong codes. Wait five minutes, then use a new one."},
    ),
    "second_factor_missing": Refusal(
        403,
        "A second factor is needed first",
        "This site asks everybody who runs competitions for a second factor. Set one up on your "
        "account page; tokens work from then on.",
        "Organizers and operators need a second factor here: set one up on the account page.",
    ),
    "not_authenticated": Refusal(
        401,
        "You are not signed in",
        "Sign in first: this needs an account.[ The Authorization header is not understood: it "
        "should be the word Token, a space, and a token of this site, which begins with {prefix}.]",
        "Send a token that has not expired, or sign in.",
    ),
    "not_allowed": Refusal(
        403,
        "You may not do this",
        "Your account may not do this.",
        variants={
            "role": "Only somebody who runs this competition as its {roles} can do this.",
            "organizer": "Creating a competition needs the organizer's role, which an operator "
            "grants.",
            "no_role": "Running competitions needs the organizer's role, which an operator grants.",
        },
    ),
    "scope_missing": Refusal(
        403,
        "The token was not made for this",
        "This needs a token with the scope {scope}. Make one on your account page, or by "
        "`holdfast login --scope {scope}`.",
        "A token does what its scopes say: read, submit, campaigns, organize.",
    ),
    "token_bound": Refusal(
        403,
        "The token is for something else",
        "This token is for the competition {competition}: it reads that and submits to it, and "
        "nothing else.",
        "A bound token reads one competition and submits to it, perhaps to one campaign alone.",
        variants={
            "campaign": "This token submits to the campaign {campaign} alone. Leave the campaign "
            "out, or name that one. Nothing was counted.",
        },
    ),
    "csrf_failed": Refusal(
        403, "The CSRF token is missing", "With a session, send the X-CSRFToken header."
    ),
    "rules_not_accepted": Refusal(
        403,
        "The rules are not accepted",
        "The files are for participants. Accept the rules on the competition's rules page.",
        "Join the competition by accepting its rules.",
    ),
    "not_a_member": Refusal(
        403,
        "You have not joined this competition",
        "Join the competition first: read its rules and accept them on its rules page.",
    ),
    "captain_only": Refusal(
        403,
        "Only the captain can do this",
        "Only the team's captain, {captain}, can change the team.",
        "Ask your team's captain.",
    ),
    "competition_not_open": Refusal(
        403,
        "The competition is not open yet",
        f"This competition does not take submissions yet.[ It opens on {{opens_at:{_WHEN}}}.] "
        "Nothing was counted.",
        "It takes no submissions yet; nothing was counted.",
    ),
    "deadline_passed": Refusal(
        403,
        "The deadline has passed",
        f"[This competition closed on {{closes_at:{_WHEN}}}.|It has ended.] Nothing was accepted.",
        "The competition has closed; nothing was accepted.",
        variants={
            "teams": f"This competition closed on {{closes_at:{_WHEN}}}: its teams stay as they "
            "are, with who gets their places. Ask the organizers if that is wrong.",
        },
    ),
    "not_found": Refusal(
        404,
        "There is nothing here",
        "There is no such page.",
        "The address is wrong, or you may not know of what is there: the answer is the same.",
        variants={"competition": "The competition was deleted. Nothing was accepted."},
    ),
    "method_not_allowed": Refusal(
        405,
        "The method is not allowed here",
        "This address takes {allowed}. Nothing was changed.",
        "The Allow header lists the methods that are.",
    ),
    "not_acceptable": Refusal(
        406,
        "No such format",
        "Ask for application/json, or for text/csv or application/jsonl where there is one.",
    ),
    "hidden_until_end": Refusal(
        403,
        "Hidden until the end",
        "What other teams do is hidden in this competition until its final scores are revealed[, "
        f"after {{closes_at:{_WHEN}}}]. Until then you see your own answers.",
        "Its board is hidden until the end: a team sees its own answers alone.",
    ),
    "finals_not_revealed": Refusal(
        404,
        "There are no final scores yet",
        "The final scores of this competition are not revealed yet. The board of released scores "
        "is there.",
        "The organizer has not revealed them.",
    ),
    "finals_not_tested": Refusal(
        404,
        "No entries were compared",
        "The metric is no mean over rows, or these rows answered during the competition and "
        "nothing bounds what tests would have to allow for that.",
    ),
    "finals_started": Refusal(
        409,
        "The finals have started",
        "The organizer has started the final scoring: selections and submissions can no longer "
        "change.",
        variants={
            "rows": "Exact scores of these rows are measured. A further round needs new rows.",
            "revision": "Exact scores are measured on the solution as it is, and no submission may "
            "follow them. It can't be revised any more.",
        },
    ),
    "already_joined": Refusal(
        409,
        "You have joined already",
        "You are a member of a team in this competition. A person can be in one team only.",
    ),
    "not_admitted": Refusal(
        403,
        "You are not admitted",
        "This competition takes only people whom its organizers let in.",
        variants={
            "code": "Enter the join code first, at the address /c/{slug}/join/.",
            "domain": "Only people with a confirmed mail address at {domains} may join. Add yours "
            "to your account and confirm it.",
            "address": "This invitation is for another mail address. Sign in with the account that "
            "has it, or add it to your account.",
            "unconfirmed": "This invitation is for a mail address that you have not confirmed yet: "
            "follow the link in the mail you were sent, then open the invitation again.",
            "taken": "Somebody else has taken this invitation. Ask the organizers for one.",
        },
    ),
    "disqualified": Refusal(
        403,
        "Your team is disqualified",
        "Your team is disqualified, so it can't submit: {reason}",
        "The organizers disqualified the team, with a reason. Its files are not taken any more.",
    ),
    "gate_closed": Refusal(
        409,
        "The gate is closed",
        "This gate takes no new question. Nothing was asked or counted.",
        "It can't be asked anything new: none were declared, none are left, it was retired, its "
        "announced margin is no longer kept, or the round has ended. Nothing was counted.",
        variants={
            "none": "This round declared no gates when it opened, so none can be asked.",
            "retired": "This gate was retired. Nothing was asked or counted.",
            "none_left": "The ledger has answered all of its {limit:# gate/# gates}. Nothing was "
            "asked or counted.",
            "margin": "What was answered since leaves more room for error than this gate "
            "announced: {now:.4g} in place of {announced:.4g}. Nothing was asked or counted.",
            "ended": "Gates are asked until the finals start. Nothing was asked or counted.",
        },
    ),
    "team_name_taken": Refusal(
        409,
        "The team name is taken",
        "Another team of this competition has this name. Choose another one.",
        field="team_name",
    ),
    "competition_full": Refusal(
        409,
        "The competition is full",
        "This competition takes at most {limit:# team/# teams}. A team with room for you can still "
        "invite you.",
        "The competition limits how many teams there are.",
    ),
    "team_full": Refusal(
        409,
        "The team is full",
        "Teams of this competition have at most {limit:# member/# members}.",
        "The competition limits the size of teams.",
    ),
    "organizes_here": Refusal(
        409,
        "You run this competition",
        "You run this competition, or did: who could see its hidden data can't take part in it.",
        "Whoever runs a competition, or ever did, can't join a team there.",
    ),
    "no_token": Refusal(
        409,
        "There is no token to revoke",
        "This request came with a session, not with a token.",
    ),
    "invitation_expired": Refusal(
        410,
        "The invitation has expired",
        "This invitation has expired. Ask the team for a new one.",
        "Ask the team for a new one.",
    ),
    "invitation_used": Refusal(
        409,
        "The invitation was taken",
        "Somebody has taken this invitation, which was for one person. Ask the team for a new one.",
        variants={"mail": "Somebody has taken this invitation, so no mail is needed."},
    ),
    "captain_stays": Refusal(
        409,
        "The captain can't leave yet",
        "Hand the captaincy to another member first.",
    ),
    "last_member_stays": Refusal(
        409,
        "The last member can't leave",
        "You are the last member of a team that has submitted: nobody could select its final "
        "entries, and what it used would stay used. To work with others, ask their team to merge.",
    ),
    "left_a_team": Refusal(
        409,
        "You have left a team that submitted",
        "What your former team used of quota and corrections stays used, so you can't join or "
        "found another team in this round.",
        variants={
            "hidden": "You know answers of the team that you left. Where the board is hidden until "
            "the end nobody may know those of two teams, so you can't join or found another one.",
        },
    ),
    "team_merged": Refusal(
        410,
        "The team was merged",
        "This team has become a part of another one. Ask its captain for an invitation.",
    ),
    "merge_over_quota": Refusal(
        409,
        "Together the teams have used too much",
        "Both teams have used {used:# submission/# submissions}; one team may send {limit:,} in "
        "all, so they can't be merged.",
        "Both have sent more than one team may, today or in all.",
        variants={
            "today": "Both teams have used {used:# submission/# submissions} today; one team may "
            "send {limit:,} a day. Merge tomorrow (UTC), before you submit.",
        },
    ),
    "merge_asked": Refusal(
        409,
        "Your team asks another one already",
        "Your team waits for the answer of a team. Take that back before you ask another one.",
    ),
    "no_merge_request": Refusal(
        409,
        "Nobody asks for this",
        "There is no request to merge between these teams, or it was taken back.",
    ),
    "file_too_large": Refusal(
        413,
        "The file is too large",
        "The file is larger than {limit:size}, which is the limit. Nothing was counted.",
        "The file is larger than the competition or the site allows. Nothing was counted.",
        "file",
    ),
    "body_too_large": Refusal(
        413,
        "The body is too large",
        "JSON bodies have at most {limit:size}.",
        "JSON bodies have at most 64 kB, those of organizers 4 MB.",
    ),
    "unsupported_media_type": Refusal(
        415, "The media type is not supported", "Send what the operation takes."
    ),
    "campaign_ended": Refusal(
        409,
        "The campaign has ended",
        f"The campaign {{name}} ended on {{ended_at:{_WHEN}}} and takes no more submissions. "
        "Nothing was counted.",
        "It takes no more submissions; nothing was counted.",
        "campaign",
    ),
    "range_not_satisfiable": Refusal(
        416, "No such part of the file", "The file has {size} bytes.", "Ask for bytes it has."
    ),
    "file_empty": Refusal(
        422,
        "The file is empty",
        "The file has no bytes in it. Choose the file with your predictions. Nothing was counted.",
        field="file",
    ),
    "too_many_finals": Refusal(
        422,
        "Too many final entries",
        "A team of this competition enters at most {limit:# submission/# submissions}. Take "
        "another one out first.",
        "Enter as many as the competition allows, or fewer.",
        "numbers",
    ),
    "not_released": Refusal(
        422,
        "Only released submissions can be entered",
        "{count:Submission/Submissions} {missing:numbers}: your team has no such number with a "
        "released answer.",
        "Your team has no submission of that number with a released answer.",
        "numbers",
        variants={
            "lost": "The {count:file/files} of {count:submission/submissions} {missing:numbers} "
            "{count:was/were} lost with a restored backup, so no final score can come of "
            "{count:it/them}."
        },
    ),
    "not_comparable": Refusal(
        422,
        "These submissions can't be compared",
        "Choose two different submissions.",
        "They are the same one, one of them couldn't be read or was lost, they have other rows or "
        "columns, or they are too large to be read while you wait.",
        variants={
            "unread": "Submission {number} has no predictions that can be read.",
            "lost": "The file of submission {number} was lost.",
            "other_rows": "The two submissions are for rounds with other rows or columns.",
            "too_large": "Submissions of more than {limit:size} are not compared here; compare "
            "them on your own machine.",
        },
    ),
    "daily_limit_reached": Refusal(
        429,
        "Today's submissions are used up",
        "Your team has used {limit:its one submission/all of its # submissions} of today. "
        f"The count starts again on {{renews_at:{_WHEN}}}. The file was not accepted.",
        "The count starts again with the next day (UTC).",
    ),
    "total_limit_reached": Refusal(
        429,
        "All submissions are used up",
        "Your team has used {limit:its one submission/all of its # submissions}. The file was not "
        "accepted.",
        "No more are accepted.",
    ),
    "campaign_limit_reached": Refusal(
        429,
        "The campaign's limit is reached",
        "The campaign {name} has made {limit:its one submission/all of its # submissions}. Its "
        "owner can raise the limit. The file was not accepted, and nothing was counted.",
        "Whoever began the campaign can raise its limit.",
        "campaign",
    ),
    "token_quota_reached": Refusal(
        429,
        "The token's quota is used up",
        "This token has made {limit:its one submission/all of its # submissions}. The file was not "
        "accepted, and nothing was counted.",
        "No more are accepted with this token.",
    ),
    "too_many_rejected": Refusal(
        429,
        "Too many rejected or repeated files today",
        "{limit} files of your team were rejected today, or repeated earlier ones. Compare your "
        f"file with the sample submission. You can upload again on {{renews_at:{_WHEN}}}.",
        "Fix the file before you send it again.",
    ),
    "throttled": Refusal(
        429,
        "Too many requests",
        "Too many requests. Try again in {seconds:# second/# seconds}.",
        "Wait as many seconds as the Retry-After header says.",
    ),
    "internal_error": Refusal(
        500,
        "Something failed on our side",
        "Something failed on our side. Please try again later.",
        "The request is not to blame; try again later.",
    ),
    "paused": Refusal(
        503,
        "The competition is paused",
        "The operator is restoring the ledger of this competition, or the organizer is revising "
        "the solution. Files are taken again once that is done; what was accepted before is kept "
        "and will be scored. Nothing was counted.",
        "Its ledger is being restored, or its solution revised, or answers elsewhere; nothing was "
        "counted.",
        variants={
            "moved": "This competition goes on at another installation, where its ledger is now. "
            "Nothing is taken or answered here any more. Nothing was counted.",
            "archived": "This is a copy of a competition, to be read and verified: the secrets "
            "that answers are drawn with are not here. Nothing was counted.",
        },
    ),
    "unavailable": Refusal(
        503,
        "The site can't work at the moment",
        "The site can't reach its database or its files. Nothing that was accepted is lost. Try "
        "again in a minute; if you were uploading, look first whether the file is listed.",
        "Database or files are away, or too many people are here; come back after the seconds of "
        "the Retry-After header.",
        variants={
            "crowded": "Many people are here right now. Nothing was changed; ask again in some "
            "seconds.",
        },
    ),
    "storage_full": Refusal(
        507,
        "The server has no space left",
        "There is no space left on the server for this, so nothing was changed or counted. Please "
        "inform whoever runs this site, and try again later.",
        "Nothing was changed or counted; try again later.",
    ),
    "wrong_file": Refusal(
        422,
        "The file can't be used",
        "The file can't be used. Nothing was stored.",
        "A solution, sample or table is wrong; `errors` say `line`, `column`, `value` and what was "
        "`expected`. Nothing was stored.",
    ),
    "looks_hidden": Refusal(
        422,
        "This looks like hidden labels",
        "{reason}",
        "A public file seems to hold labels of hidden rows.",
        "file",
    ),
    "final_board_revealed": Refusal(
        409,
        "The final board is public",
        "The final places are stored and public, and can't change any more. Disqualify before the "
        "reveal; afterwards, announce it.",
    ),
    "class_list_wrong": Refusal(
        422,
        "The class list can't be used as it is",
        "Nobody was added. {count:# problem/# problems}, first {first}",
        "Lines of the class list are wrong; nobody was added.",
    ),
    "sanctioned_already": Refusal(
        409, "This is in force already", "Lift it first, to write another reason."
    ),
    "not_sanctioned": Refusal(
        409, "There is nothing to lift", "It counts, as far as boards and finals go."
    ),
    "submissions_waiting": Refusal(
        409,
        "Submissions are being scored",
        "{count:# submission is/# submissions are} still on the way. Start the finals when all "
        "have their answers.",
        "Submissions are still on the way: wait until all have their answers.",
        variants={
            "uploads": f"Files whose upload began before the deadline may arrive until "
            f"{{until:{_WHEN}}}. Start the finals then.",
            "move": "{count:# submission is/# submissions are} still on the way: move the "
            "competition when all have their answers.",
            "merge": "Merge the teams when all their submissions have their answers.",
            "publication": "Wait until every submission is scored: an answer that comes after the "
            "labels are known would mean nothing.",
        },
    ),
    "submissions_failed": Refusal(
        409,
        "Some submissions failed",
        "{names} failed on our side. Queue them again, or accept that they end without an answer.",
        "Submissions failed on the site's side: queue them again, or accept that they end so.",
    ),
    "restore_unsettled": Refusal(
        409,
        "A restored backup lacks something",
        "The database was restored, and what neither the log nor the storage had is missing: "
        "{names}. Tell these teams, or do it again, or accept that the finals count without it.",
        "A backup was restored that lacks files, people or actions: accept it, or put it right.",
    ),
    "selections_over_limit": Refusal(
        409,
        "Some teams have selected too many final entries",
        "The limit was lowered to {limit} after these had selected more: {names}. Raise it again, "
        "or let them select anew.",
        "The limit was lowered after teams had selected more: raise it again, or let them select.",
    ),
    "nothing_to_score": Refusal(
        409,
        "There is nothing to score",
        "No team has a released score, so there is no final board to make.",
    ),
    "not_open": Refusal(
        409,
        "The competition is not open",
        "Only a competition that is open can be closed before its time.",
    ),
    "not_closed": Refusal(
        409, "The competition is not closed", "The finals start after the competition has closed."
    ),
    "not_the_last_round": Refusal(
        409,
        "A later round asks the same rows",
        "Rounds on the same rows have one end. Start the finals in the last of them.",
        variants={"removal": "Another round follows: remove that one first."},
    ),
    "round_begun": Refusal(
        409,
        "The round has begun",
        "Only a round that has not begun can be changed here or removed. Times and limits of the "
        "current one are settings of the competition.",
    ),
    "last_board": Refusal(
        409,
        "A round needs a board",
        "This is the only board of the round. Change how it scores instead.",
    ),
    "no_practice": Refusal(
        409,
        "There can be no practice",
        "There can be no practice on these rows.",
        variants={
            "before_reveal": "Practice begins after the final scores are revealed.",
            "published": "The solution is published: everybody knows the labels.",
            "later_round": "A later round asks the same rows.",
            "newer_rows": "A later round has begun: files are for that one.",
        },
    ),
    "finals_not_scored": Refusal(
        409,
        "The final scores are not complete",
        "Some final scores are missing. They can be revealed once all are there.",
    ),
    "not_ended": Refusal(
        409,
        "The competition has not ended",
        "Reveal the final scores first. As long as somebody can submit or choose, the labels must "
        "stay hidden; and once they are published they can't be hidden again.",
    ),
    "not_a_draft": Refusal(
        409,
        "The competition is open",
        "What the competition asks is fixed while it is open: participants rely on it.",
        variants={"trial": "Files are tried in a draft, and this competition was opened."},
    ),
    "frozen": Refusal(
        409,
        "This is frozen",
        "Scores have been released from it, and their meaning must not change afterwards.",
        variants={
            "submitted": "Somebody has submitted: what the competition asks must not change any "
            "more.",
            "published": "Its true labels are public by now.",
            "gates": "A gate was made: programs rely on what it asks.",
        },
    ),
    "has_submissions": Refusal(
        409,
        "The competition has submissions",
        "A competition that somebody has submitted to is kept, with its ledger. Set its visibility "
        "to hidden instead.",
    ),
    "checklist_not_green": Refusal(
        409,
        "The checklist is not green",
        "Not opened: {missing}",
        "The competition is not ready to open; the detail names what is missing.",
    ),
    "nothing_released": Refusal(
        409,
        "Nothing was released yet",
        "No answer has left this solution, so you can simply replace it on the page “Solution”; "
        "that is not a revision.",
    ),
    "revision_unchecked": Refusal(
        409,
        "The revised solution is not checked yet",
        "A worker compares its rows with those of earlier solutions. Start the finals in a minute.",
    ),
    "watermark_away": Refusal(
        503,
        "The ledger can't be compared with its watermark",
        "Whether this database knows of every answer can't be checked here, so nothing was "
        "changed. Whoever runs this site has to let the web process read WATERMARK_DIR.",
    ),
    "not_mergeable": Refusal(
        409,
        "These teams can't be merged",
        "Only two different teams of this competition, neither of them merged before, can be "
        "merged.",
        variants={
            "sanctioned": "A team that is disqualified or hidden, or has submissions that don't "
            "count, can't be merged. Lift that first.",
            "by_organizers": "Only the organizers can say whether these teams may merge: ask them.",
        },
    ),
    "merge_hidden": Refusal(
        409,
        "Teams can't be merged before the end",
        "The board is hidden until the end: each team has a guarantee of its own, which holds only "
        "as long as teams don't share their answers.",
    ),
    "selections_left": Refusal(
        409,
        "The team has selected final entries",
        "The team that is merged has to take its final entries out first.",
    ),
    "not_movable": Refusal(
        409,
        "The competition can't be moved",
        "It has no sealed solution and no ledger yet: export it as a bundle.",
        "It has no ledger yet, or that was moved before, is paused or a copy, or final scores are "
        "being measured.",
        variants={
            "moved": "It was moved before, on {at:%d %B %Y}: a ledger is in one place.",
            "archived": "This is a copy without its secrets: it can be exported, not moved.",
            "paused": "Its ledger is paused: that has to be repaired first.",
            "finals": "Its final scores are being measured. Move it once all are there.",
        },
    ),
}
# What only pages and commands of captains, organizers and operators meet.
REFUSALS: Mapping[str, Refusal] = {
    **PROBLEMS,
    "not_from_files": Refusal(
        409,
        "Nothing was proposed",
        "This competition was set up by hand, page by page: change it on those pages.",
    ),
    "not_restored": Refusal(
        409,
        "The ledger can't be restored like this",
        "[{problem}|The end of this competition is not lost.]",
        variants={
            "end_again": "No answer is lost, but the end is: exact scores were measured that this "
            "database doesn't know of. End the competition again, with --end.",
            "not_behind": "There is nothing to replay up to: {problem}",
            "count_unknown": "The watermark can't tell how many answers are lost. Give how many "
            "there were at most, with --lost; 0 if this database was never restored.",
            "no_ledger": "This competition has no ledger yet.",
            "no_copy": "The file is no copy of this ledger: it lacks the database's last entry.",
            "too_short": "The file doesn't lead to the last entry that was released, {written}.",
            "revision_lost": "What is lost holds a revision of the solution, and the revised "
            "solution is lost with it. Give the entries up (--give-up), then revise the solution "
            "again.",
            "revealed": "Final scores were revealed that rest on what is lost, and the copy beside "
            "the watermark has all of it. Replay it, with --replay.",
            "not_as_published": "Entry {number} can't be written as it was published.",
        },
    ),
    "account_stays": Refusal(
        409,
        "The account can't be deleted yet",
        "You are the only owner of {names}. Name another owner there, or delete what is a draft.",
        variants={
            "operator": "This account runs the whole site. Let another operator take that role "
            "from it first.",
            "name": "This is not the name of your account.",
        },
    ),
}


def word(code: str, facts: Mapping[str, Any]) -> str:
    """Return what happened, what it means and what can be done, as full sentences.

    The field `message`, where there is one, stands for itself.
    """
    if "message" in facts:
        return str(facts["message"])
    known = REFUSALS[code]
    return fill(known.variants.get(facts.get("variant", ""), known.detail), facts)

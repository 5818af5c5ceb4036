"""Who gets what from every address of the site, by every HTTP method: one table, read from above.

`tests/walking.py` has the cast, the competitions, and what is sent. A cell is the status; `+` says
that something was changed, and `in` that one is led to where one signs in. HEAD is answered as GET.
A method that a route does not list is refused, or shows what GET shows, and changes nothing.

In the console of a competition the organizer is its owner, and three more columns are its editor,
judge and viewer.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from leaderboard.models import Competition, Visibility
from tests.cast import World
from tests.routes import Route, all_routes
from tests.walking import (
    CONSOLE_ROLES,
    METHODS,
    ROLES,
    SIGN_IN,
    Seen,
    Stage,
    everything,
    kept_stage,
)

MATRIX = """
                 anonymous
                      participant
                           rival
                                invited
                                     organizer
                                          other organizer
                                               operator
/
  GET            200  200  200  200  200  200  200
/healthz
  GET            200  200  200  200  200  200  200
/readyz
  GET            200  200  200  200  200  200  200
/favicon.ico
  GET            302  302  302  302  302  302  302
/robots.txt
  GET            200  200  200  200  200  200  200
/sitemap.xml
  GET            200  200  200  200  200  200  200
/.well-known/security.txt
  GET            404  404  404  404  404  404  404
/c/<slug>/board.png
  GET            200  200  200  200  200  200  200
/c/<slug>/badge.svg
  GET            200  200  200  200  200  200  200
/c/<slug>/embed/
  GET            200  200  200  200  200  200  200
/metrics
  GET            404  404  404  404  404  404  404
  POST           404  404  404  404  404  404  404
/how-it-works/
  GET            200  200  200  200  200  200  200
/account/
  GET            in   200  200  200  200  200  200
/account/email/
  GET            in   200  200  200  200  200  200
  POST           in   302+ 302+ 302+ 302+ 302+ 302+
/account/tokens/
  GET            in   302  302  302  302  302  302
  POST           in   201+ 201+ 201+ 201+ 201+ 201+
/account/tokens/<key>/revoke/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302  302  302  302  302
/account/page/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302+ 302+ 302+ 302+ 302+
/account/sessions/
  GET            in   200  200  200  200  200  200
  POST           in   302+ 302+ 302+ 302+ 302+ 302+
/account/data.json
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/delete/
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/providers/
  GET            in   200  200  200  200  200  200
  POST           in   200  200  200  200  200  200
/account/github/login/
  GET            404  404  404  404  404  404  404
/account/github/login/callback/
  GET            404  404  404  404  404  404  404
/account/oidc/<provider_id>/login/
  GET            404  404  404  404  404  404  404
/account/oidc/<provider_id>/login/callback/
  GET            404  404  404  404  404  404  404
/c/<slug>/
  GET            200  200  200  200  200  200  200
/account/mails/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302+ 302+ 302+ 302+ 302+
/inbox/
  GET            in   200  200  200  200  200  200
/inbox/read/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302+ 302+ 302+ 302+ 302+
/unsubscribe/<signed>/
  GET            200  200  200  200  200  200  200
  POST           200+ 200+ 200+ 200+ 200+ 200+ 200+
/c/<slug>/announcements/
  GET            200  200  200  200  200  200  200
/c/<slug>/announcements.atom
  GET            200  200  200  200  200  200  200
/c/<slug>/data/
  GET            200  200  200  200  200  200  200
/c/<slug>/data/<name>
  GET            403  200  200  403  200  403  200
/c/<slug>/rules/
  GET            200  200  200  200  200  200  200
/c/<slug>/rules/accept/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302+ 403  403  403  403
/c/<slug>/join/
  GET            in   302  302  302  302  302  302
  POST           in   409  409  302+ 409  302+ 409
/c/<slug>/invited/<token>/
  GET            200  200  200  200  200  200  200
  POST           in   403  403  403  403  403  403
/c/<slug>/join/<token>/
  GET            200  302  200  200  200  200  200
  POST           in   302  409  302+ 409  302+ 409
/c/<slug>/leaderboard/
  GET            200  200  200  200  200  200  200
/c/<slug>/leaderboard/released/
  GET            200  200  200  200  200  200  200
/c/<slug>/leaderboard.atom
  GET            200  200  200  200  200  200  200
/c/<slug>/leaderboard.csv
  GET            200  200  200  200  200  200  200
/c/<slug>/leaderboard.json
  GET            200  200  200  200  200  200  200
/c/<slug>/final.csv
  GET            404  404  404  404  404  404  404
/c/<slug>/submit/
  GET            200  200  200  200  200  200  200
  POST           in   302+ 302+ 403  403  403  403
/c/<slug>/submit/check/
  GET            in   200  200  403  403  403  403
/c/<slug>/submissions/
  GET            in   200  200  403  403  403  403
/c/<slug>/submissions/compare/
  GET            in   422  422  403  403  403  403
/c/<slug>/submissions/<number>/file
  GET            in   200  404  404  404  404  404
/c/<slug>/submissions/<number>/note/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 404  404  404  404  404
/c/<slug>/submissions/<number>/
  GET            in   200  404  404  404  404  404
/c/<slug>/submissions/<number>/status/
  GET            in   200  404  404  404  404  404
/c/<slug>/gates/
  GET            200  200  200  200  200  200  200
/c/<slug>/finals/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302+ 403  403  403  403
/c/<slug>/submissions/<number>/final/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 404  404  404  404  404
/c/<slug>/team/
  GET            in   200  200  403  403  403  403
/c/<slug>/team/name/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302+ 403  403  403  403
/c/<slug>/team/invite/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302+ 403  403  403  403
/c/<slug>/team/withdraw/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302+ 403  403  403  403
/c/<slug>/campaigns/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 302+ 403  403  403  403
/c/<slug>/campaigns/<campaign>/
  GET            in   200  404  403  403  403  403
/c/<slug>/campaigns/<campaign>/limit/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 404  403  403  403  403
/c/<slug>/campaigns/<campaign>/end/
  GET            in   302  302  302  302  302  302
  POST           in   302+ 404  403  403  403  403
/c/<slug>/log/
  GET            200  200  200  200  200  200  200
/c/<slug>/log/checkpoint
  GET            200  200  200  200  200  200  200
/c/<slug>/log/tile/<path>
  GET            200  200  200  200  200  200  200
/c/<slug>/submissions/<number>/receipt
  GET            in   200  404  404  404  404  404
/c/<slug>/team/leave/
  GET            in   302  302  302  302  302  302
  POST           in   409  409  403  403  403  403
/c/<slug>/team/remove/
  GET            in   302  302  302  302  302  302
  POST           in   422  422  403  403  403  403
/c/<slug>/team/captain/
  GET            in   302  302  302  302  302  302
  POST           in   302  422  403  403  403  403
/c/<slug>/team/merge/<uid>/
  GET            in   404  200  403  403  403  403
  POST           in   404  302+ 403  403  403  403
/c/<slug>/team/merge/<uid>/accept/
  GET            in   302  302  302  302  302  302
  POST           in   404  409  403  403  403  403
/c/<slug>/team/merge/<uid>/drop/
  GET            in   302  302  302  302  302  302
  POST           in   404  409  403  403  403  403
/t/<uid>/
  GET            200  200  200  200  200  200  200
/u/<name>/
  GET            200  200  200  200  200  200  200
/c/<slug>/ledger/
  GET            200  200  200  200  200  200  200
/c/<slug>/ledger.jsonl
  GET            200  200  200  200  200  200  200
/c/<slug>/publications/<version>.zip
  GET            404  404  404  404  404  404  404
/account/login/
  GET            200  302  302  302  302  302  302
  POST           302  302  302  302  302  302  302
  PATCH          405  200  200  200  200  200  200
  PUT            200  200  200  200  200  200  200
  DELETE         405  302  302  302  302  302  302
/account/logout/
  GET            302  200  200  200  200  200  200
  POST           302  302  302  302  302  302  302
/account/inactive/
  GET            200  200  200  200  200  200  200
/account/signup/
  GET            200  302  302  302  302  302  302
  POST           302+ 302  302  302  302  302  302
  PATCH          405  200  200  200  200  200  200
  PUT            200  200  200  200  200  200  200
  DELETE         405  302  302  302  302  302  302
/account/reauthenticate/
  GET            in   200  200  200  200  200  200
  POST           in   302  200  200  200  200  200
/account/confirm-email/
  GET            200  200  200  200  200  200  200
/account/password/change/
  GET            in   200  200  200  200  200  200
  POST           in   302+ 200  200  200  200  200
/account/password/set/
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/password/reset/
  GET            200  200  200  200  200  200  200
  POST           302  302  302  302  302  302  302
/account/login/code/confirm/
  GET            302  302  302  302  302  302  302
  POST           302  302  302  302  302  302  302
/account/confirm-email/<key>/
  GET            200  200  200  200  200  200  200
  POST           302+ 302+ 302+ 302+ 302+ 302+ 302+
/account/password/reset/key/done/
  GET            200  200  200  200  200  200  200
/account/password/reset/key/<uidb36>-<key>/
  GET            302  302  302  302  302  302  302
  POST           302  302  302  302  302  302  302
  PUT            200  200  200  200  200  200  200
/account/password/reset/done/
  GET            200  200  200  200  200  200  200
/account/second-factor/
  GET            in   200  200  200  200  200  200
/account/second-factor/authenticate/
  GET            302  302  302  302  302  302  302
  POST           302  302  302  302  302  302  302
/account/second-factor/reauthenticate/
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/second-factor/totp/activate/
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/second-factor/totp/deactivate/
  GET            in   404  404  404  404  404  404
/account/second-factor/recovery-codes/
  GET            in   404  404  404  404  404  404
/account/second-factor/recovery-codes/generate/
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/second-factor/recovery-codes/download/
  GET            in   404  404  404  404  404  404
/account/second-factor/webauthn/
  GET            in   200  200  200  200  200  200
/account/second-factor/webauthn/add/
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/second-factor/webauthn/reauthenticate/
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/second-factor/webauthn/keys/<pk>/remove/
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/second-factor/webauthn/keys/<pk>/edit/
  GET            in   302  302  302  302  302  302
  POST           in   302  302  302  302  302  302
/account/second-factor/webauthn/login/
  GET            302  302  302  302  302  302  302
  POST           302  302  302  302  302  302  302
/account/providers/login/cancelled/
  GET            200  200  200  200  200  200  200
/account/providers/login/error/
  GET            401  401  401  401  401  401  401
/account/providers/signup/
  GET            302  302  302  302  302  302  302
  POST           302  302  302  302  302  302  302
/api/v1/
  GET            200  200  200  200  200  200  200
/api/v1/schema/
  GET            200  200  200  200  200  200  200
/api/v1/docs/
  GET            200  200  200  200  200  200  200
/api/v1/problems/
  GET            200  200  200  200  200  200  200
/api/v1/auth/login/
  GET            405  405  405  405  405  405  405
  POST           200+ 200+ 200+ 200+ 200+ 200+ 200+
/api/v1/auth/logout/
  GET            401  405  405  405  405  405  405
  POST           401  409  409  409  409  409  409
/api/v1/me/
  GET            401  200  200  200  200  200  200
/api/v1/me/notices/
  GET            401  200  200  200  200  200  200
/api/v1/me/notices/read/
  GET            401  405  405  405  405  405  405
  POST           401  200+ 200+ 200+ 200+ 200+ 200+
/api/v1/me/export/
  GET            401  200  200  200  200  200  200
/api/v1/competitions/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/announcements/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/files/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/files/<name>/
  GET            401  200  200  403  200  403  200
/api/v1/competitions/<slug>/leaderboard/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/log/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/log/entries/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/log/inclusion/
  GET            422  422  422  422  422  422  422
/api/v1/competitions/<slug>/log/consistency/
  GET            422  422  422  422  422  422  422
/api/v1/competitions/<slug>/log/witness/
  GET            405  405  405  405  405  405  405
  POST           422  422  422  422  422  422  422
/api/v1/competitions/<slug>/ledger/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/final/
  GET            404  404  404  404  404  404  404
/api/v1/competitions/<slug>/final/tests/
  GET            404  404  404  404  404  404  404
/api/v1/competitions/<slug>/gates/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/gates/<gate>/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/finals/
  GET            401  200  200  403  403  403  403
  PUT            401  200+ 200+ 403  403  403  403
/api/v1/competitions/<slug>/publications/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/publications/<number>/
  GET            404  404  404  404  404  404  404
/api/v1/competitions/<slug>/join/
  GET            401  405  405  405  405  405  405
  POST           401  409  409  201+ 409  201+ 409
/api/v1/competitions/<slug>/team/
  GET            401  200  200  403  403  403  403
  PATCH          401  200+ 200+ 403  403  403  403
/api/v1/competitions/<slug>/team/leave/
  GET            401  405  405  405  405  405  405
  POST           401  409  409  403  403  403  403
/api/v1/competitions/<slug>/team/members/<username>/
  GET            401  405  405  405  405  405  405
  DELETE         401  422  422  403  403  403  403
/api/v1/competitions/<slug>/team/captain/
  GET            401  405  405  405  405  405  405
  PUT            401  204  422  403  403  403  403
/api/v1/competitions/<slug>/team/invitations/
  GET            401  200  200  403  403  403  403
  POST           401  201+ 201+ 403  403  403  403
  DELETE         401  204+ 204+ 403  403  403  403
/api/v1/competitions/<slug>/team/mergers/
  GET            401  200  200  403  403  403  403
/api/v1/competitions/<slug>/team/mergers/<uid>/
  GET            401  404  200  403  403  403  403
  POST           401  404  201+ 403  403  403  403
  PUT            401  404  409  403  403  403  403
  DELETE         401  404  409  403  403  403  403
/api/v1/teams/<uid>/
  GET            200  200  200  200  200  200  200
/api/v1/people/<username>/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/teams/
  GET            200  200  200  200  200  200  200
/api/v1/competitions/<slug>/campaigns/
  GET            401  200  200  403  403  403  403
  POST           401  201+ 201+ 403  403  403  403
/api/v1/competitions/<slug>/campaigns/<campaign>/
  GET            401  200  404  403  403  403  403
  PATCH          401  200+ 404  403  403  403  403
/api/v1/competitions/<slug>/submissions/
  GET            401  200  200  403  403  403  403
  POST           401  201+ 201+ 403  403  403  403
/api/v1/competitions/<slug>/submissions/<number>/
  GET            401  200  404  404  404  404  404
  PATCH          401  200+ 404  404  404  404  404
/api/v1/competitions/<slug>/submissions/<number>/file/
  GET            401  200  404  404  404  404  404
/api/v1/competitions/<slug>/submissions/compare/
  GET            401  422  422  403  403  403  403
/api/v1/organize/bundles/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  201+ 201+ 201+
/api/v1/organize/bundles/plan/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200  200  200
/api/v1/organize/archives/
  GET            401  403  403  403  200  200  200
  POST           401  403  403  403  422  422  422
/api/v1/organize/competitions/
  GET            401  403  403  403  200  200  200
  POST           401  403  403  403  201+ 201+ 201+
/api/v1/organize/competitions/from-files/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  201+ 201+ 201+
/api/v1/organize/competitions/<slug>/
  GET            401  403  403  403  200  404  200
  PATCH          401  403  403  403  200+ 404  200+
  DELETE         401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/checklist/
  GET            401  403  403  403  200  404  200
/api/v1/organize/competitions/<slug>/open/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/draft/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/columns/
  GET            401  403  403  403  200  404  200
  PUT            401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/columns/proposal/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200  404  200
/api/v1/organize/competitions/<slug>/files/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  201+ 404  201+
/api/v1/organize/competitions/<slug>/files/<name>/
  GET            401  403  403  403  405  405  405
  DELETE         401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/scoring/
  GET            401  403  403  403  200  404  200
  PUT            401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/scoring/proposal/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/solution/
  GET            401  403  403  403  200  404  200
  PUT            401  403  403  403  200+ 404  200+
  DELETE         401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/revision/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/revision/preview/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200  404  200
/api/v1/organize/competitions/<slug>/plan/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/trials/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  201+ 404  201+
/api/v1/organize/competitions/<slug>/trials/<trial_id>/
  GET            401  403  403  403  200  404  200
  DELETE         401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/submissions/
  GET            401  403  403  403  200  404  200
/api/v1/organize/competitions/<slug>/submissions/requeue/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/teams/
  GET            401  403  403  403  200  404  200
/api/v1/organize/competitions/<slug>/teams/<uid>/
  GET            401  403  403  403  200  404  200
  PATCH          401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/teams/<uid>/sanction/
  GET            401  403  403  403  405  405  405
  PUT            401  403  403  403  204+ 404  204+
  DELETE         401  403  403  403  409  404  409
/api/v1/organize/competitions/<slug>/teams/<uid>/quota/
  GET            401  403  403  403  405  405  405
  PUT            401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/teams/<uid>/merge/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  404  404  404
/api/v1/organize/competitions/<slug>/teams/<uid>/submissions/<number>/sanction/
  GET            401  403  403  403  405  405  405
  PUT            401  403  403  403  204+ 404  204+
  DELETE         401  403  403  403  409  404  409
/api/v1/organize/competitions/<slug>/people/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/people/class-list/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/people/<uid>/
  GET            401  403  403  403  405  405  405
  DELETE         401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/access/
  GET            401  403  403  403  200  404  200
  PATCH          401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/organizers/
  GET            401  403  403  403  200  404  200
/api/v1/organize/competitions/<slug>/organizers/<username>/
  GET            401  403  403  403  405  405  405
  PUT            401  403  403  403  200+ 404  200+
  DELETE         401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/budget/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  422  404  422
/api/v1/organize/competitions/<slug>/gates/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  201+ 404  201+
/api/v1/organize/competitions/<slug>/gates/<gate>/
  GET            401  403  403  403  405  405  405
  DELETE         401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/gates/<gate>/promote/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  404  404  404
/api/v1/organize/competitions/<slug>/events/
  GET            401  403  403  403  200  404  200
/api/v1/organize/competitions/<slug>/close/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/finals/
  GET            401  403  403  403  200  404  200
/api/v1/organize/competitions/<slug>/finals/start/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/finals/reveal/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/finals/board/
  GET            401  403  403  403  200  404  200
/api/v1/organize/competitions/<slug>/announcements/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  201+ 404  201+
/api/v1/organize/competitions/<slug>/announcements/<number>/
  GET            401  403  403  403  405  405  405
  PUT            401  403  403  403  200+ 404  200+
  DELETE         401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/webhooks/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  422  404  422
/api/v1/organize/competitions/<slug>/webhooks/<uid>/
  GET            401  403  403  403  405  405  405
  PATCH          401  403  403  403  200+ 404  200+
  DELETE         401  403  403  403  204+ 404  204+
/api/v1/organize/competitions/<slug>/webhooks/<uid>/deliveries/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  202+ 404  202+
/api/v1/organize/competitions/<slug>/rounds/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  201+ 404  201+
/api/v1/organize/competitions/<slug>/rounds/<number>/
  GET            401  403  403  403  405  405  405
  PATCH          401  403  403  403  409  404  409
  DELETE         401  403  403  403  409  404  409
/api/v1/organize/competitions/<slug>/rounds/<number>/boards/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  201+ 404  201+
/api/v1/organize/competitions/<slug>/boards/<uid>/
  GET            401  403  403  403  405  405  405
  PUT            401  403  403  403  200+ 404  200+
  DELETE         401  403  403  403  409  404  409
/api/v1/organize/competitions/<slug>/practice/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/bundle/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/archive/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  200+ 404  200+
/api/v1/organize/competitions/<slug>/move/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  202+ 404  202+
/api/v1/organize/competitions/<slug>/clone/
  GET            401  403  403  403  405  405  405
  POST           401  403  403  403  201+ 404  201+
/api/v1/organize/competitions/<slug>/publication/
  GET            401  403  403  403  200  404  200
  POST           401  403  403  403  200+ 404  200+
/api/v1/<anything>
  GET            404  404  404  404  404  404  404
/admin/password_change/
  GET            302  302  302  302  302  302  302
/admin/
  GET            in   403  403  403  403  403  200
/admin/login/
  GET            in   403  403  403  403  403  302
/admin/logout/
  GET            302  403  403  403  403  403  405
  POST           302  403  403  403  403  403  302
/admin/autocomplete/
  GET            in   403  403  403  403  403  403
/admin/jsi18n/
  GET            in   403  403  403  403  403  200
/admin/auth/group/
  GET            in   403  403  403  403  403  200
/admin/auth/group/add/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/auth/group/<object_id>/history/
  GET            in   403  403  403  403  403  200
/admin/auth/group/<object_id>/delete/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/auth/group/<object_id>/change/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/auth/group/<object_id>/
  GET            in   403  403  403  403  403  302
/admin/account/emailaddress/
  GET            in   403  403  403  403  403  200
/admin/account/emailaddress/add/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/account/emailaddress/<object_id>/history/
  GET            in   403  403  403  403  403  200
/admin/account/emailaddress/<object_id>/delete/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/account/emailaddress/<object_id>/change/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/account/emailaddress/<object_id>/
  GET            in   403  403  403  403  403  302
/admin/leaderboard/competition/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/competition/add/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/competition/<object_id>/history/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/competition/<object_id>/delete/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/competition/<object_id>/change/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  403
/admin/leaderboard/competition/<object_id>/
  GET            in   403  403  403  403  403  302
/admin/leaderboard/team/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  200
/admin/leaderboard/team/add/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/team/<object_id>/history/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/team/<object_id>/delete/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/team/<object_id>/change/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  403
/admin/leaderboard/team/<object_id>/
  GET            in   403  403  403  403  403  302
/admin/leaderboard/submission/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  200
/admin/leaderboard/submission/add/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/submission/<object_id>/history/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/submission/<object_id>/delete/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/submission/<object_id>/change/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  403
/admin/leaderboard/submission/<object_id>/
  GET            in   403  403  403  403  403  302
/admin/leaderboard/release/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/release/add/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/release/<object_id>/history/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/release/<object_id>/delete/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/release/<object_id>/change/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  403
/admin/leaderboard/release/<object_id>/
  GET            in   403  403  403  403  403  302
/admin/leaderboard/event/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/event/add/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/event/<object_id>/history/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/event/<object_id>/delete/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/event/<object_id>/change/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  403
/admin/leaderboard/event/<object_id>/
  GET            in   403  403  403  403  403  302
/admin/leaderboard/user/<id>/password/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/leaderboard/user/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/user/add/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/leaderboard/user/<object_id>/history/
  GET            in   403  403  403  403  403  200
/admin/leaderboard/user/<object_id>/delete/
  GET            in   403  403  403  403  403  403
/admin/leaderboard/user/<object_id>/change/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/leaderboard/user/<object_id>/
  GET            in   403  403  403  403  403  302
/admin/knox/authtoken/
  GET            in   403  403  403  403  403  200
/admin/knox/authtoken/add/
  GET            in   403  403  403  403  403  403
/admin/knox/authtoken/<object_id>/history/
  GET            in   403  403  403  403  403  200
/admin/knox/authtoken/<object_id>/delete/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  302+
/admin/knox/authtoken/<object_id>/change/
  GET            in   403  403  403  403  403  200
  POST           in   403  403  403  403  403  403
/admin/knox/authtoken/<object_id>/
  GET            in   403  403  403  403  403  302
/admin/<app_label>/
  GET            in   403  403  403  403  403  200
/admin/<url>
  GET            in   403  403  403  403  403  404
/organize/
  GET            in   403  403  403  200  200  200
/organize/new/
  GET            in   403  403  403  200  200  200
  POST           in   403  403  403  302+ 302+ 302+
/organize/new/bundle/
  GET            in   403  403  403  200  200  200
  POST           in   403  403  403  200  200  200
/organize/new/template/
  GET            in   403  403  403  302  302  302
  POST           in   403  403  403  302+ 302+ 302+
/organize/new/preview/
  GET            in   403  403  403  405  405  405
  POST           in   403  403  403  200  200  200
/organize/<slug>/
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/open/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/draft/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/budget/
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/gates/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/gates/<gate>/retire/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 403  403
/organize/<slug>/gates/<gate>/promote/<submission_id>/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  422  404  422  422  403  403
/organize/<slug>/submissions/
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/submissions/requeue/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 302
/organize/<slug>/submissions/<submission_id>/
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/submissions/<submission_id>/requeue/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 302
/organize/<slug>/teams/
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/teams/<uid>/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 200
/organize/<slug>/announcements/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/announcements/<number>/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/announcements/<number>/withdraw/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/webhooks/
  GET            in   403  403  403  200  404  200  200  403  403
  POST           in   403  403  403  201+ 404  201+ 201+ 403  403
/organize/<slug>/webhooks/<webhook_id>/
  GET            in   403  403  403  200  404  200  200  403  403
  POST           in   403  403  403  302+ 404  302+ 302+ 403  403
/organize/<slug>/webhooks/<webhook_id>/secret/
  GET            in   403  403  403  302  404  302  302  403  403
  POST           in   403  403  403  200+ 404  200+ 200+ 403  403
/organize/<slug>/webhooks/<webhook_id>/switch/
  GET            in   403  403  403  302  404  302  302  403  403
  POST           in   403  403  403  302+ 404  302+ 302+ 403  403
/organize/<slug>/webhooks/<webhook_id>/test/
  GET            in   403  403  403  302  404  302  302  403  403
  POST           in   403  403  403  302+ 404  302+ 302+ 403  403
/organize/<slug>/webhooks/<webhook_id>/delete/
  GET            in   403  403  403  200  404  200  200  403  403
  POST           in   403  403  403  302+ 404  302+ 302+ 403  403
/organize/<slug>/webhooks/<webhook_id>/<delivery_id>/again/
  GET            in   403  403  403  302  404  302  302  403  403
  POST           in   403  403  403  302+ 404  302+ 302+ 403  403
/organize/<slug>/settings/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/settings/delete/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302  302  302
/organize/<slug>/settings/copies/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/settings/copies/bundle.zip
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  200+ 404  200+ 200+ 302  302
/organize/<slug>/settings/copies/archive.zip
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  200+ 404  200+ 302  302  302
/organize/<slug>/settings/move/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 200  200  200
/organize/new/by-hand/
  GET            in   403  403  403  200  200  200
  POST           in   403  403  403  302+ 302+ 302+
/organize/new/files/
  GET            405  405  405  405  405  405  405
  POST           in   403  403  403  201+ 201+ 201+
/organize/<slug>/proposal/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 422  422
/organize/<slug>/proposal/board/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/trial/
  GET            in   403  403  403  200  404  200  200  403  403
  POST           in   403  403  403  302+ 404  302+ 302+ 403  403
/organize/<slug>/trial/<trial_id>/baseline/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/trial/<trial_id>/remove/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/preview/<tab>/
  GET            in   403  403  403  200+ 404  200+ 200+ 302  302
  POST           in   403  403  403  302  404  302  302  302  302
/organize/<slug>/data/columns/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/data/files/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/data/files/<file_id>/remove/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/data/scoring/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/data/scoring/proposal/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/data/solution/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/data/solution/revision/
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/data/solution/withdraw/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/rounds/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  200  404  200  200  200  200
/organize/<slug>/rounds/<number>/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/rounds/<number>/files/
  GET            in   403  403  403  405  404  405  405  405  405
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/rounds/<number>/files/<file_id>/remove/
  GET            in   403  403  403  405  404  405  405  405  405
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/rounds/<number>/solution/
  GET            in   403  403  403  405  404  405  405  405  405
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/rounds/<number>/boards/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  200  404  200  200  200  200
/organize/<slug>/rounds/<number>/boards/<position>/remove/
  GET            in   403  403  403  405  404  405  405  405  405
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/rounds/<number>/practice/
  GET            in   403  403  403  405  404  405  405  405  405
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/rounds/<number>/remove/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302  302
/organize/<slug>/people/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 200
/organize/<slug>/people/class-list/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 200
/organize/<slug>/people/joining/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 200
/organize/<slug>/people/joining/renew/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 302
/organize/<slug>/people/joining/off/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302  404  302  302  302  302
/organize/<slug>/people/organizers/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 200  200  200
/organize/<slug>/people/organizers/<uid>/role/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302  302  302
/organize/<slug>/people/organizers/<uid>/remove/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302  302  302
/organize/<slug>/people/exports/
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/people/exports/teams.csv
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/people/exports/members.csv
  GET            in   403  403  403  200  404  200  200  200  403
/organize/<slug>/people/exports/submissions.csv
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/people/listed/<uid>/send/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 302
/organize/<slug>/people/listed/<uid>/withdraw/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 302
/organize/<slug>/people/accounts/<uid>/withdraw/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 302
/organize/<slug>/teams/<uid>/quota/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 200
/organize/<slug>/teams/<uid>/sanction/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 200
/organize/<slug>/teams/<uid>/lift/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302  404  302  302  302  302
/organize/<slug>/teams/<uid>/merge/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302  404  302  302  302  302
/organize/<slug>/teams/<uid>/submissions/<number>/sanction/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 200
/organize/<slug>/teams/<uid>/submissions/<number>/lift/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302  404  302  302  302  302
/organize/<slug>/finals/
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/finals/close/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 302
/organize/<slug>/finals/start/
  GET            in   403  403  403  302  404  302  302  302  302
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 302
/organize/<slug>/finals/reveal/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 302+ 302
/organize/<slug>/finals/final.csv
  GET            in   403  403  403  200  404  200  200  404  404
/organize/<slug>/finals/publication/
  GET            in   403  403  403  200  404  200  200  200  200
  POST           in   403  403  403  302+ 404  302+ 302+ 200  200
/organize/<slug>/audit/
  GET            in   403  403  403  200  404  200  200  200  200
/organize/<slug>/audit.csv
  GET            in   403  403  403  200  404  200  200  200  200
"""

LISTED = ("GET", "POST", "PATCH", "PUT", "DELETE")
AREAS = ("pages", "account", "api", "organize", "admin")
# Whoever may not use the admin at all is stopped before the method is looked at.
ODD_METHODS = tuple(method for method in METHODS if method not in ("GET", "HEAD"))
# Those who may do least and most: what nobody may do is refused before it is asked who asks.
ROLES_OF_ODD_METHODS = {
    "pages": ("anonymous", "participant", "organizer"),
    "account": ("anonymous", "participant"),
    "api": ("anonymous", "participant", "organizer"),
    "organize": ("anonymous", "organizer"),
    "admin": ("organizer",),
}
# Who sees an address by another right than the others do.
LOOKING = ("anonymous", "participant", "organizer", "operator")
# Without signing in: to make an account, to sign in, to confirm an address that one was sent, to
# get no more mails.
FOR_EVERYBODY = {
    *("account/signup/", "api/v1/auth/login/", "account/confirm-email/<key>/"),
    "unsubscribe/<signed>/",
}

# Looking is done in a transaction that is rolled back: what it writes doesn't stay.
TAKEN_BACK = {"organize/<slug>/preview/<tab>/"}

Rows = dict[tuple[str, str], list[str]]


@cache
def matrix() -> Rows:
    """The table's rows by route and method."""
    rows: Rows = {}
    route = ""
    for line in MATRIX.partition("operator\n")[2].splitlines():
        if line.startswith("  "):
            method, *cells = line.split()
            rows[route, method] = cells
        else:
            route = line.removeprefix("/")
    return rows


def block(route: Route, rows: Rows) -> str:
    """A route as the table has it."""
    lines = [
        f"  {method:<12}   " + " ".join(f"{cell:<4}" for cell in cells).rstrip()
        for method in LISTED
        if (cells := rows.get((route.pattern, method)))
    ]
    return "\n".join([f"/{route.pattern}", *lines])


@pytest.fixture
def stage(world: World) -> Stage:
    return kept_stage(world)


def routes(area: str) -> list[Route]:
    return [route for route in all_routes() if route.area == area]


def roles_of(route: Route) -> tuple[str, ...]:
    """Return who has a column in the route's row."""
    of_console = route.area == "organize" and "slug" in route.parameters
    return (*ROLES, *CONSOLE_ROLES) if of_console else ROLES


@pytest.mark.parametrize("area", AREAS)
def test_everybody_gets_what_the_table_says_and_nothing_else(area: str, stage: Stage) -> None:
    wrong = []
    for route in routes(area):
        said: Rows = {key: cells for key, cells in matrix().items() if key[0] == route.pattern}
        listed = {method for _, method in said} or {"GET", "POST"}
        seen: Rows = {
            (route.pattern, method): [
                stage.ask(role, method, route).text for role in roles_of(route)
            ]
            for method in LISTED
            if method in listed
        }
        if seen != said:
            wrong.append(f"--- the table\n{block(route, said)}\n+++ seen\n{block(route, seen)}")
    assert not wrong, (
        "MATRIX in tests/test_permissions.py says otherwise. If a route is new or its answers were "
        "meant to change, put there what was seen, once it is what each role may have; what a POST "
        "sends is in tests/walking.py.\n" + "\n".join(wrong)
    )


def test_the_table_names_only_routes_that_are_there() -> None:
    assert {route for route, _ in matrix()} <= {route.pattern for route in all_routes()}


@pytest.mark.parametrize("area", AREAS)
def test_methods_that_are_not_listed_do_no_more_than_looking(area: str, stage: Stage) -> None:
    for route in routes(area):
        for method in ODD_METHODS:
            if (route.pattern, method) in matrix():
                continue
            for role in ROLES_OF_ODD_METHODS[area]:
                seen = stage.ask(role, method, route)
                looking = matrix()[route.pattern, "GET"][ROLES.index(role)]
                where = f"{method} {route.pattern} as {role}: {seen.text}"
                assert seen.is_refusal or seen.text in (looking, "200"), where
                assert not seen.writes, where


@pytest.mark.parametrize("role", LOOKING)
def test_looking_at_every_address_changes_nothing(role: str, stage: Stage) -> None:
    """All tables are compared, but for who is signed in and since when."""
    before = everything()
    for route in all_routes():
        looking = matrix()[route.pattern, "GET"][ROLES.index(role)]
        if route.area == "account":
            stage.sign_in(role)  # a link from a mail signs out whoever it is not for
        seen = stage.ask(role, "HEAD", route, keep=True)
        assert seen.text == looking, f"HEAD {route.pattern}: {seen.text}, but GET {looking}"
    assert everything() == before


def test_nothing_is_changed_by_looking_or_without_signing_in() -> None:
    for (route, method), cells in matrix().items():
        if method == "GET":
            assert route in TAKEN_BACK or not any("+" in cell for cell in cells), route
        if "+" in cells[ROLES.index("anonymous")]:
            assert route in FOR_EVERYBODY


def test_what_is_of_organizers_is_closed_to_all_others() -> None:
    """So that other tests needn't ask all of them for all of it."""
    for route in all_routes():
        if route.is_of_organizers and route.pattern not in LEADING_AWAY:
            for method in LISTED:
                cells = matrix().get((route.pattern, method), [])[: ROLES.index("organizer")]
                assert set(cells) <= {SIGN_IN, "401", "403", "404", "405"}, (
                    f"{method} {route.pattern}"
                )


def test_the_admin_is_closed_to_all_but_operators() -> None:
    for (route, _), cells in matrix().items():
        if route.startswith("admin/") and route not in LEADING_AWAY:
            assert set(cells[: ROLES.index("operator")]) <= {SIGN_IN, "403"}, route


def test_judges_see_to_people_and_the_end_and_viewers_look_on() -> None:
    for (route, _), cells in matrix().items():
        if route.startswith("organize/<slug>/"):
            _, judge, viewer = cells[len(ROLES) :]
            assert "+" not in viewer, route
            assert "+" not in judge or route.startswith(OF_JUDGES), route


OF_JUDGES = tuple(
    f"organize/<slug>/{page}/" for page in ("submissions", "teams", "people", "finals")
)


# Addresses that only lead to another one, where the person is asked who it is.
LEADING_AWAY = {"admin/logout/", "admin/password_change/"}


# --- What does not exist for a person -------------------------------------------------------------


MADE_UP = "widget"  # as long as the name of the competition
# Random in every answer.
REQUEST_ID = "X-Request-ID"
_FORM_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="\w{64}"')


def _alike(seen: Seen) -> tuple[object, ...]:
    """All of an answer that a stranger sees, and how many queries it took."""
    kept = {name: value for name, value in seen.response.headers.items() if name != REQUEST_ID}
    headers = "\n".join(f"{name}: {value}" for name, value in kept.items())
    said = f"{headers}\n{seen.body}".replace(MADE_UP, "digits")
    return seen.status, _FORM_TOKEN.sub("", said), len(seen.queries)


OF_A_COMPETITION = [route for route in all_routes() if "slug" in route.parameters]


def _is_not_there(stage: Stage, role: str, method: str, route: Route) -> None:
    """Same status, headers and body, and as many queries: nothing tells the two apart."""
    hidden = stage.ask(role, method, route, slug="digits")
    made_up = stage.ask(role, method, route, slug=MADE_UP)
    assert _alike(hidden) == _alike(made_up), f"{method} {route.pattern} as {role}"
    assert hidden.is_refusal or method == "OPTIONS", f"{method} {route.pattern} as {role}"


@pytest.mark.parametrize("role", ["anonymous", "participant", "rival", "invited", "other"])
def test_a_hidden_competition_is_answered_like_an_address_that_was_never_given(
    role: str, stage: Stage
) -> None:
    Competition.objects.filter(slug="digits").update(visibility=Visibility.HIDDEN)
    # Members are asked everything; for the others the method makes no difference.
    methods = METHODS if role == "participant" else ("GET", "POST")
    for route in OF_A_COMPETITION:
        if route.is_of_organizers and role not in ("participant", "other"):
            continue
        for method in ("GET", "POST") if route.is_of_organizers else methods:
            _is_not_there(stage, role, method, route)


def test_a_draft_is_answered_like_an_address_that_was_never_given(stage: Stage) -> None:
    Competition.objects.filter(slug="digits").update(opened_by_organizer_at=None)
    for route in OF_A_COMPETITION:
        for method in ("GET", "POST"):
            _is_not_there(stage, "participant", method, route)


# Whoever has the link was told of the competition.
BY_ITS_LINK = {"c/<slug>/invited/<token>/"}
# What other sites show is of public competitions alone.
SHARED = {"c/<slug>/board.png", "c/<slug>/badge.svg", "c/<slug>/embed/"}


def test_a_competition_for_invited_people_is_not_there_for_others(stage: Stage) -> None:
    Competition.objects.filter(slug="digits").update(visibility=Visibility.INVITED)
    for route in OF_A_COMPETITION:
        if route.pattern in BY_ITS_LINK:
            continue
        for method in ("GET", "POST"):
            for role in ("other",) if route.is_of_organizers else ("anonymous", "other"):
                _is_not_there(stage, role, method, route)
            if route.pattern in SHARED:
                _is_not_there(stage, "invited", method, route)
                continue
            invited = stage.ask("invited", method, route).text
            listed = matrix().get((route.pattern, method))
            assert listed is None or invited == listed[ROLES.index("invited")]

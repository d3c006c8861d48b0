# SPDX-License-Identifier: GPL-2.0
"""The schema of what the devlend tool prints as JSON: complete, and not one that everything fits."""

import jsonschema
import pytest

from tool_host import OK, built, document, host, schema

__all__ = ["built", "host"]	# fixtures


def objects(node):
    """All schemas of objects below a node."""
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for value in node.values():
            yield from objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects(value)


def test_schema_is_complete():
    """Each property is described, and no other is allowed."""
    jsonschema.Draft7Validator.check_schema(schema())
    for one in objects(schema()):
        assert one.get("additionalProperties") is False, one
        for name, value in one["properties"].items():
            assert "description" in value or "$ref" in value or "const" in value, name


def test_schema_refuses(host):
    """It is not one that everything fits."""
    status, made = document(host, "list")
    assert status == OK
    for change in ({"lent": 1}, {"more": []}, {"schema": 2}, {"command": "frob"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**made, **change}, schema())

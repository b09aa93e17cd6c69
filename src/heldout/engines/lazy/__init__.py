"""The lazy engine: frames of another library, aggregated where they are."""

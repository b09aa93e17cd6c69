"""What a careful statistician would point out: coded rules, slices and the cases that go wrong."""

# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"

# Versions in frames: short ones unchanged, long ones as digests.
class FrameVersionTest < Tiercel::TestCase
  Version = Tiercel::Frame::Version
  LONGEST = "v" * Version::MAX_BYTES
  LONG = "#{LONGEST}v".freeze

  def test_short_ones_are_kept_as_they_are
    ["", "1", "größe".encode("ISO-8859-1"), LONGEST].each { |version| assert_equal version, Version.kept(version) }
    assert_equal "1", Version.kept(1)
  end

  def test_long_ones_are_kept_as_digests
    assert_equal "sha256::#{Digest::SHA256.hexdigest(LONG)}", Version.kept(LONG)
    assert_operator Version.kept("é" * 20_000).bytesize, :<, 100
  end

  def test_they_are_the_same_as_before_only
    [LONG, "é" * 20_000, "é".encode("ISO-8859-1") * 40_000, "a".encode("UTF-16LE") * 20_000].each do |version|
      kept = Version.kept(version)

      assert Version.same?(kept, version)
      assert Version.same?(kept, kept)
      refute Version.same?(kept, version + version[0])
      refute Version.same?(kept, "1")
      refute Version.same?("1", version)
    end
  end

  def test_strings_that_are_equal_are_the_same_whatever_their_encodings
    assert Version.same?(Version.kept(LONG), LONG.encode("US-ASCII"))
    assert Version.same?(Version.kept(LONG.b), LONG)
    refute Version.same?(Version.kept("é" * 20_000), ("é" * 20_000).b)
  end

  def test_of_encodings_that_have_no_ascii
    %w[UTF-16LE UTF-32BE UTF-7].each do |encoding|
      one, two = %w[1 2].map { |text| text.dup.force_encoding(encoding) }
      [two, "1", LONG].each { |other| refute Version.same?(one, other) || Version.same?(other, one), encoding }
      assert Version.same?(one, one.dup)
    end
  end

  # Frames of an earlier release, which stored longer versions unchanged.
  def test_a_long_one_that_was_kept_as_it_was
    assert Version.same?(LONG, LONG)
  end
end

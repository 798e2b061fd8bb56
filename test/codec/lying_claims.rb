# frozen_string_literal: true

# Generates msgpack payloads with hostile sizes: nested containers that claim about as many bytes as are left, and
# sizes at the limits of their formats.
class LyingClaims
  SIZES = [0, 1, 15, 16, 17, 31, 32, 64, 65, 127, 128, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 1].freeze
  FILLERS = ["\x00", "\xC0", "\x80", "\x90", "\xA0", "\xA1a", "\xD4\x00a", "\xC7\x00\x00", "\xCB#{"\x00" * 8}",
             "\xCB\x7F\xF8#{"\x00" * 6}"]
            .map(&:b).freeze
  # Formats with a size: first byte, template of the size, minimum bytes per element.
  CONTAINERS = [[0xDC, "n", 1], [0xDD, "N", 1], [0xDE, "n", 2], [0xDF, "N", 2]].freeze
  RUNS = [[0xD9, "C"], [0xDA, "n"], [0xDB, "N"], [0xC4, "C"], [0xC5, "n"], [0xC6, "N"], [0xC7, "C"], [0xC8, "n"],
          [0xC9, "N"]].freeze

  # @param random [Random]
  def initialize(random)
    @random = random
  end

  # @return [String] a payload, usually malformed
  def make
    total = [20, 300, 5_000].sample(random: @random)
    payload = String.new
    @random.rand(1..103).times do
      payload << header(total - payload.bytesize)
      payload << filler if @random.rand(3).zero?
    end
    payload << filler while payload.bytesize < total
    payload
  end

  private

  def filler = FILLERS.sample(random: @random)

  def header(left)
    return run(left) if @random.rand(20).zero?
    first, size_of, each = CONTAINERS.sample(random: @random)
    return [(each == 1 ? 0x90 : 0x80) | @random.rand(16)].pack("C") if @random.rand(4).zero?
    [first, claim(left / each)].pack("C#{size_of}")
  end

  def run(left)
    first, size_of = RUNS.sample(random: @random)
    [first, claim(left)].pack("C#{size_of}")
  end

  # A number close to the number of bytes after the header. Array#pack truncates the number to its format.
  def claim(left)
    return SIZES.sample(random: @random) if @random.rand(3).zero?
    [left - @random.rand(8), 0].max
  end
end

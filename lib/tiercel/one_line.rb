# frozen_string_literal: true

# Makes a text that comes from a server or a library fit for a message: valid UTF-8, one line, and not too long. A
# server may send any bytes. Unchanged, they would forge lines of a log, fill it, or fail to join with a key.
#
# @private
module Tiercel::OneLine
  # Characters that a message keeps of a text.
  MOST = 1_000
  # Control characters and Unicode's line ends.
  BREAKS = /[[:cntrl:]\u2028\u2029]+/
  private_constant :BREAKS

  # @param text [String]
  # @return [String]
  def self.of(text)
    readable = utf8(text.byteslice(0, (MOST + 1) * 4))
    readable = readable.gsub(BREAKS, " ") if BREAKS.match?(readable)
    readable.size > MOST ? "#{readable[0, MOST]}..." : readable
  end

  # Bytes without an encoding are usually UTF-8.
  def self.utf8(text)
    return text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace) unless raw?(text)
    text.dup.force_encoding(Encoding::UTF_8).scrub
  end
  private_class_method :utf8

  def self.raw?(text) = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].include?(text.encoding)
  private_class_method :raw?
end

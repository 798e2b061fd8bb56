# frozen_string_literal: true

# A file of the cache: a header, the key and the bytes. Little-endian:
#
#   0   4  magic "TCF1"
#   4   4  length of the key
#   8   8  expiry as epoch seconds (IEEE 754), 0.0 for none
#   16  8  token
#   24  8  length of the bytes
#   32     the key, then the bytes
#
# A file whose length differs from its header is truncated (by a crash of the machine, or by a full disk behind
# a network). Reads treat it as absent.
class Tiercel::Backends::File::Record <
      Struct.new(:key, :bytes, :expires_at, :token) # rubocop:disable Style/StructInheritance
  MAGIC = "TCF1"
  HEADER_BYTES = 32
  FORMAT = "a4VEQ<Q<"
  READ = ::File::RDONLY | ::File::BINARY

  def expired?(now) = expires_at && expires_at <= now

  class << self
    # @param path [String]
    # @param whole [Boolean] false to read only the header and the key
    # @return [Record, nil] nil if there is no file, or it is not a file of the cache
    # @raise [SystemCallError]
    def read(path, whole: true)
      small = Tiercel::CodecExt.read_small(path) # a small file in one call
      return if small == false
      return parse(small, small.bytesize, whole) { |at, length| small.byteslice(at, length) } if small
      ::File.open(path, READ) do |file|
        parse(file.read(HEADER_BYTES).to_s, file.size, whole) { |at, length| file.pread(length, at) }
      end
    rescue Errno::ENOENT, Errno::EISDIR
      nil
    end

    # @return [String] the header and the key
    def head(key, bytes, expires_at, token)
      [MAGIC, key.bytesize, expires_at || 0.0, token, bytes.bytesize].pack(FORMAT) << key.b
    end

    private

    # Accepts the lengths in the header only if the file has exactly the length that they add up to.
    def parse(head, size, whole)
      magic, key_bytes, expires_at, token, length = head.unpack(FORMAT)
      return unless magic == MAGIC && length && size == HEADER_BYTES + key_bytes + length
      new(yield(HEADER_BYTES, key_bytes), (yield(HEADER_BYTES + key_bytes, length) if whole),
          (expires_at unless expires_at.zero?), token)
    end
  end
end

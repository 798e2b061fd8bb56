# frozen_string_literal: true

module Tiercel
  module Backends
    # Stores all entries in one file under one lock: the shortest backend that processes can share. It implements the
    # required methods of `Tiercel::Backend` and overrides nothing else.
    class Example < Backend
      Item = Struct.new(:bytes, :ends_at, :token)

      # The entries while the file is locked.
      Entries = Struct.new(:items, :last_token) do
        def put(key, bytes, ends_at)
          self.last_token += 1
          items[key.b] = Item.new(bytes.b, ends_at, last_token)
          true
        end
      end

      def self.option_names = []
      def self.build(url, _options) = new(url.place)

      def initialize(path)
        super()
        @path = path
      end

      def get(key) = read { |items| items[key.b]&.bytes }
      def get_with_token(key) = read { |items| items[key.b]&.then { |item| [item.bytes, item.token] } }
      def set(key, bytes, ttl = nil) = change { |entries| entries.put(key, bytes, end_of(ttl)) }
      def delete(key) = change { |entries| !entries.items.delete(key.b).nil? }

      def add(key, bytes, ttl = nil)
        change { |entries| !entries.items.key?(key.b) && entries.put(key, bytes, end_of(ttl)) }
      end

      def compare_and_set(key, bytes, token, ttl = nil)
        change { |entries| entries.items[key.b]&.token == token && entries.put(key, bytes, end_of(ttl)) }
      end

      def increment(key, amount = 1, ttl = nil)
        change do |entries|
          item = entries.items[key.b]
          count = item ? Counter.add(item.bytes, amount, key) : Counter.in_range(amount, key)
          entries.put(key, count.to_s, item ? item.ends_at : end_of(ttl))
          count
        end
      end

      def touch(key, ttl)
        change do |entries|
          item = entries.items[key.b]
          item.ends_at = end_of(ttl) if item
          !item.nil?
        end
      end

      def scan(prefix = nil, &block)
        return enum_for(:scan, prefix) unless block
        keys = read(&:keys)
        keys.each { |key| yield key if prefix.nil? || key.start_with?(prefix.b) }
        nil
      end

      def stats = read { |items| { entries: items.size, bytes: items.sum { |_, item| item.bytes.bytesize } } }
      def to_s = "example:#{@path}"

      private

      def clear_all = change { |entries| entries.items.clear && nil }

      def end_of(ttl) = ttl && (Clock.now + ttl)

      def read = locked(::File::LOCK_SH) { |file| yield load(file).items }

      def change
        locked(::File::LOCK_EX) do |file|
          entries = load(file)
          answer = yield entries
          file.rewind
          file.truncate(0)
          file.write(Marshal.dump([entries.items, entries.last_token]))
          answer
        end
      end

      def locked(lock)
        ::File.open(@path, ::File::RDWR | ::File::CREAT, binmode: true) do |file|
          file.flock(lock)
          yield file
        end
      end

      def load(file)
        bytes = file.read
        items, last_token = bytes.empty? ? [{}, 0] : Marshal.load(bytes)
        now = Clock.now
        Entries.new(items.reject { |_, item| item.ends_at && item.ends_at <= now }, last_token)
      end
    end
  end
end

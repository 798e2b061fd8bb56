# frozen_string_literal: true

# The backends named by a store's URLs: one, or a near tier and the last tier. Assigns each option to a backend, and
# builds the backends. One URL gives one backend; two give {Tiers}.
#
# @private
class Tiercel::Places
  # One backend, before it is built.
  Place = Struct.new(:url, :backend_class, :tier) do
    # @return [Array<Symbol>] option names that its URL may contain
    def option_names = tier ? [*backend_class.option_names, *Tiercel::Options.of(:near)] : backend_class.option_names

    # @return [Hash] `ttl` and `bus` of a near tier
    def near = Tiercel::Options.values(:near, url.options)
  end

  # Schemes of near tiers, and of backends that cannot be the last tier.
  NEAR = %w[memory shared].freeze
  NEVER_LAST = [*NEAR, "null"].freeze
  ON_DISK = %w[sqlite file].freeze
  # Backends that send invalidation messages for the keys of one prefix.
  WITH_PREFIX = /\A(rediss?|unix)\z/
  private_constant :NEAR, :NEVER_LAST, :ON_DISK, :WITH_PREFIX

  # @return [Array<Place>]
  attr_reader :all

  # @param urls [Array<String, Symbol>] no URL means "shared:"
  # @raise [ConfigurationError]
  def initialize(urls)
    urls = ["shared:"] if urls.empty?
    parsed = urls.map { |url| Tiercel::BackendURL.parse(url) }
    check_tiers(*parsed) if parsed.size > 1
    @all = parsed.each_with_index.map do |url, index|
      Place.new(url, Tiercel::Backends::REGISTRY.fetch(url.scheme), index < parsed.size - 1)
    end
  end

  # @return [BackendURL] the URL of the last tier
  def url = all.last.url

  # @return [Array<Symbol>] option names of all backends together
  def option_names = all.flat_map { |place| place.backend_class.option_names }.uniq

  # @param options [Hash{Symbol => Object}] the store's options
  # @raise [ConfigurationError] for an option that several backends support
  def check_owners(options)
    options.each_key do |name|
      owners = all.select { |place| place.backend_class.option_names.include?(name) }
      next if owners.size < 2
      raise Tiercel::ConfigurationError,
        "#{name}: both #{owners.map(&:url).join(" and ")} have this option. Put it into " \
        "the URL of one tier: \"#{owners.first.url}?#{name}=...\""
    end
  end

  # @param options [Hash{Symbol => Object}] the store's options
  # @param memo [Hash] default memo options, for a backend that has a memo
  # @return [Backend]
  def build(options, memo = {})
    near, last = all.map { |place| build_place(place, options, memo) }
    last ? stack(near, last) : near
  end

  # @return [String] a description without passwords
  def to_s = all.map(&:url).join(" > ")

  private

  def build_place(place, options, memo)
    names = place.backend_class.option_names
    own = options.slice(*names).merge(place.url.options.except(*(Tiercel::Options.of(:near) if place.tier)))
    own = memo.merge(own) if names.include?(:memo)
    own[:behind] = behind(options) if place.tier && place.url.scheme == "shared"
    url, own = Tiercel::TestWorker.place(place.url, own)
    return place.backend_class.build(url, own) if url.equal?(place.url)
    Tiercel::Backends::REGISTRY.fetch(url.scheme).build(url, own)
  end

  # Identifies the backend behind a segment and, over Redis, the key prefix whose messages the segment's listeners
  # receive. Stores with different backends must not share a near segment, or one would read the other's copies. The
  # same place in another spelling gets a segment of its own.
  def behind(options)
    place = ON_DISK.include?(url.scheme) ? "#{url.scheme}:#{::File.expand_path(url.place)}" : url.to_s
    namespace = options[:namespace] if WITH_PREFIX.match?(url.scheme) && !options[:namespace].respond_to?(:call)
    [place, url.options[:db] || options[:db], namespace].compact.join(" ")
  end

  def stack(backend, last)
    ttl, wanted = all.first.near.values_at(:ttl, :bus)
    if wanted && !last.subscribable?
      raise Tiercel::ConfigurationError, "bus: #{last} sends no invalidation messages. Remove bus=true"
    end
    # Other machines do not use the keys of parallel test processes, so no bus is needed.
    bus = last.subscribable? && wanted != false && !Tiercel::TestWorker.number
    # Over SQLite the file itself shows whether other programs change it.
    watched = last.respond_to?(:others_since?) && wanted != false && !backend.segment.path.nil?
    near = Tiercel::Tiers::Near.new(backend, ttl:, bus: bus || watched)
    near.bus = Tiercel::Tiers::Bus.new(last, near) if bus
    near.bus = Tiercel::Tiers::Watch.new(last, near) if watched
    Tiercel::Tiers.new(near, last)
  end

  def check_tiers(near, last, *more)
    return if more.empty? && NEAR.include?(near.scheme) && !NEVER_LAST.include?(last.scheme)
    raise Tiercel::ConfigurationError,
      "#{[near, last, *more].join(" > ")}: expected memory: or shared: as the near tier, and one last tier behind " \
      "it, on disk or on a server. Several servers are one URL: \"memcached://HOST:PORT,HOST:PORT\", " \
      "\"redis+cluster://HOST:PORT,HOST:PORT\". In place of memory: in front of shared:, write \"shared:?memo=16MB\""
  end
end

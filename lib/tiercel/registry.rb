# frozen_string_literal: true

require "monitor"

# Maps names to objects, which are loaded on first use.
#
# Each name has a block that requires the needed files and returns the object. Unknown names and missing libraries
# raise different errors.
#
#   COMPRESSORS = Registry.new("compressor")
#   COMPRESSORS.register(:zlib) { Compressors::Zlib }
#   COMPRESSORS.fetch(:zlib)
class Tiercel::Registry
  # @param kind [String] the noun for messages ("compressor", "serializer", "backend")
  def initialize(kind)
    @kind = kind
    @loaders = {}
    @loaded = {}
    @lock = Monitor.new
  end

  # Registers a name.
  #
  # @param name [Symbol]
  # @param gem [String, nil] the gem that the loader requires, one of {OptionalGems::OLDEST}
  # @yieldreturn [Object] the result of {#fetch} for the name
  # @return [void]
  def register(name, gem: nil, &loader)
    @lock.synchronize do
      @loaders[name.to_sym] = [loader, gem]
      @loaded.delete(name.to_sym)
    end
  end

  # @param name [Symbol, String]
  # @return [Object] the registered object
  # @raise [ConfigurationError] if the name is not registered
  # @raise [MissingDependency] if its gem is not installed
  def fetch(name)
    name = name.to_sym
    @loaded[name] || @lock.synchronize { @loaded[name] ||= load(name) }
  end

  # @param name [Symbol, String]
  # @return [Boolean] whether the name is registered and its gem can be loaded
  def available?(name)
    fetch(name)
    true
  rescue Tiercel::MissingDependency, Tiercel::ConfigurationError
    false
  end

  # @return [Array<Symbol>] registered names, sorted
  def names
    @lock.synchronize { @loaders.keys.sort }
  end

  private

  def load(name)
    loader, gem = @loaders.fetch(name) do
      raise Tiercel::ConfigurationError,
        "unknown #{@kind} #{name.inspect}: expected one of #{@loaders.keys.sort.join(", ")}" \
        "#{Tiercel::Options.did_you_mean(name, @loaders.keys)}"
    end
    loader.call.tap { Tiercel::OptionalGems.check(gem) if gem }
  rescue LoadError => error
    raise unless gem
    raise Tiercel::MissingDependency, "#{@kind} #{name.inspect} needs the gem #{gem} (#{error.message}). " \
                                      "Add to the Gemfile: #{Tiercel::OptionalGems.line(gem)}"
  end
end

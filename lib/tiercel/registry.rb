# frozen_string_literal: true

# Maps names to objects, which are loaded on first use.
#
# Each name has a block that requires the needed files and returns the object. Two threads may both run it; either
# object serves. Unknown names and missing libraries raise different errors.
#
#   COMPRESSORS = Registry.new("compressor")
#   COMPRESSORS.register(:zlib) { Compressors::Zlib }
#   COMPRESSORS.fetch(:zlib)
class Tiercel::Registry
  # @return [String] the noun for messages ("compressor", "serializer", "backend")
  attr_reader :kind

  # @param kind [String]
  def initialize(kind)
    @kind = kind
    @loaders = {}
    @loaded = {}
  end

  # Registers a name.
  #
  # @param name [Symbol]
  # @param gem [String, nil] the gem that the loader requires, one of {OptionalGems::OLDEST}
  # @yieldreturn [Object] the result of {#fetch} for the name
  # @return [void]
  def register(name, gem: nil, &loader)
    @loaders[name] = [loader, gem]
    @loaded.delete(name)
  end

  # @param name [Symbol, String]
  # @return [Object] the registered object
  # @raise [ConfigurationError] if the name is not registered
  # @raise [MissingDependency] if its gem is not installed
  def fetch(name)
    name = name.to_sym
    @loaded[name] ||= load(name)
  end

  # @return [Array<Symbol>] registered names, sorted
  def names = @loaders.keys.sort

  private

  def load(name)
    loader, gem = @loaders.fetch(name) do
      raise Tiercel::ConfigurationError,
        "unknown #{@kind} #{name.inspect}: expected one of #{names.join(", ")}" \
        "#{Tiercel::Options.did_you_mean(name, names)}"
    end
    loader.call.tap { Tiercel::OptionalGems.check(gem) if gem }
  rescue LoadError => error
    raise unless gem
    raise Tiercel::MissingDependency, "#{@kind} #{name.inspect} needs the gem #{gem} (#{error.message}). " \
                                      "Add to the Gemfile: #{Tiercel::OptionalGems.line(gem)}"
  end
end

# frozen_string_literal: true

require "json"

# Checks a document against the JSON Schema in `schema/`. The class supports the keywords of the lab's schemas: type,
# const, enum, required, properties, additionalProperties, items, minimum, $ref into $defs.
class Schema
  FOLDER = File.expand_path("../../schema", __dir__)
  TYPES = { "object" => Hash, "array" => Array, "string" => String, "integer" => Integer, "number" => Numeric,
            "null" => NilClass }.freeze

  # @param id [String] "tiercel-lab/1"
  # @return [Schema]
  def self.fetch(id) = new(JSON.parse(File.read(File.join(FOLDER, "#{id.tr("/", "-")}.json"))))

  # @param schema [Hash]
  def initialize(schema)
    @schema = schema
  end

  # @param document [Object] from JSON.parse
  # @return [Array<String>] each error with its place; empty for a valid document
  def errors(document) = check(document, @schema, "$")

  private

  def check(data, schema, at)
    schema = @schema.dig(*schema["$ref"].delete_prefix("#/").split("/")) if schema.key?("$ref")
    wrong = type_errors(data, schema, at)
    return wrong if wrong.any?
    wrong += members(data, schema, at) if data.is_a?(Hash)
    if items?(data, schema)
      wrong += data.each_with_index.flat_map { |item, i| check(item, schema["items"], "#{at}[#{i}]") }
    end
    wrong + scalar_errors(data, schema, at)
  end

  def items?(data, schema) = data.is_a?(Array) && schema.key?("items")

  def type_errors(data, schema, at)
    types = Array(schema["type"])
    return [] if types.empty? || types.any? { |type| type?(data, type) }
    ["#{at} is a #{data.class}, expected #{types.join(" or ")}"]
  end

  def type?(data, type) = type == "boolean" ? [true, false].include?(data) : data.is_a?(TYPES.fetch(type))

  def scalar_errors(data, schema, at)
    wrong = []
    if schema.key?("const") && data != schema["const"]
      wrong << "#{at} is #{data.inspect}, expected #{schema["const"].inspect}"
    end
    if schema.key?("enum") && !schema["enum"].include?(data)
      wrong << "#{at} is #{data.inspect}, expected one of #{schema["enum"]}"
    end
    if data.is_a?(Numeric) && schema["minimum"]&.>(data)
      wrong << "#{at} is #{data}, expected #{schema["minimum"]} or more"
    end
    wrong
  end

  def members(data, schema, at)
    properties = schema.fetch("properties", {})
    missing = schema.fetch("required", []) - data.keys
    unknown = schema["additionalProperties"] == false ? data.keys - properties.keys : []
    missing.map { |key| "#{at}.#{key} is missing" } + unknown.map { |key| "#{at}.#{key} is not known" } +
      data.flat_map { |key, member| properties.key?(key) ? check(member, properties[key], "#{at}.#{key}") : [] }
  end
end
